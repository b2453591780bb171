import { randomUUID } from "node:crypto";
import { transaction } from "@collections/database";
import { updateLender } from "@collections/lenders";
import type { MintBehaviour } from "@collections/lender-twin";
import { describe, expect, test } from "vitest";
import { anAssignedCase } from "../fixtures/assigned-case.ts";
import { aFieldPartner, aLender, startTestService, type TestService } from "../fixtures/fixture.ts";
import { AppClient } from "../fixtures/graphql-client.ts";

const LINK = "id status url unavailableReason";
const WATCH = `subscription ($id: ID!) { paymentLinkUpdated(id: $id) { ${LINK} } }`;
const UNSAFE = "The lender's link is not safe to open.";

interface Minted {
  readonly status: string;
  readonly url: string | null;
  readonly unavailableReason: string | null;
  /** The detailed reason why the link is unavailable. Only operators can see it. */
  readonly detail: string | null;
}

/** Starts a service that may call 127.0.0.1, and a lender whose mint endpoint is on 127.0.0.1. */
async function aService(environment: string) {
  const settings = { ENVIRONMENT: environment, OUTBOUND_ALLOW: "127.0.0.1:*" };
  const service = await startTestService({ settings });
  const lender = await aLender(service);
  const fieldPartner = await aFieldPartner(service);
  const app = new AppClient(service.url, fieldPartner.accessToken);

  async function mint(behaviour: MintBehaviour): Promise<Minted> {
    lender.mintBehaviour = behaviour;
    const { caseId } = await anAssignedCase(service, lender, fieldPartner.id);
    const visitId = randomUUID();
    const start = { visitId, caseId, occurredAt: new Date().toISOString() };
    await app.mutate("startVisit", start, "visit { visitId }");
    const amount = { minor: "250000", currency: "INR" };
    const result = await app.mutate("requestPaymentLink", { amount, visitId, channels: [] }, "paymentLink { id }");
    const { id } = result["paymentLink"] as { id: string };
    for await (const update of app.watch(WATCH, { id })) {
      const { status, url, unavailableReason } = update.data!["paymentLinkUpdated"] as Minted;
      if (status !== "REQUESTED") return { status, url, unavailableReason, detail: await detailOf(service, visitId) };
    }
    throw new Error("The link was never minted.");
  }

  async function pin(...paymentLinkHosts: string[]): Promise<void> {
    const { database, vault } = service.app;
    const { rows } = await database.pool.query<{ id: string }>("select id from lenders.lender");
    await transaction(database.em(), (tx) => updateLender(tx, vault, rows[0]!.id, { paymentLinkHosts }));
  }

  return { mint, pin };
}

async function detailOf({ app }: TestService, visitId: string): Promise<string | null> {
  const { rows } = await app.database.pool.query<{ detail: string | null }>(
    "select unavailable_detail as detail from payment_links.payment_link where visit_id = $1",
    [visitId],
  );
  return rows[0]!.detail;
}

describe("minted URLs outside a sandbox", () => {
  test("must be https and public, whatever OUTBOUND_ALLOW permits for the service's own calls", async () => {
    const { mint } = await aService("live");
    const unavailable = { status: "UNAVAILABLE", url: null, unavailableReason: UNSAFE };
    // The lender's mint endpoint and its pay page are both plain http on 127.0.0.1. OUTBOUND_ALLOW permits only the
    // mint call.
    expect(await mint("ok")).toEqual({ ...unavailable, detail: "The URL must start with https://." });
    expect(await mint("publicUrl")).toMatchObject({
      status: "MINTED",
      url: expect.stringMatching(/^https:\/\/pay\.lender\.example\/plink_/) as unknown,
    });
  });

  test("must have one of the lender's payment-link hosts", async () => {
    const { mint, pin } = await aService("live");
    await pin("pay.acme.example");
    expect(await mint("publicUrl")).toEqual({
      status: "UNAVAILABLE",
      url: null,
      unavailableReason: UNSAFE,
      detail: "The host pay.lender.example is not among the lender's payment-link hosts: pay.acme.example.",
    });
    await pin("pay.acme.example", "pay.lender.example");
    expect(await mint("publicUrl")).toMatchObject({ status: "MINTED" });
  });
});

test("in a sandbox minted URLs may have a host of OUTBOUND_ALLOW, even if the lender has payment-link hosts", async () => {
  const { mint, pin } = await aService("sandbox");
  await pin("pay.acme.example");
  const url = expect.stringMatching(/^http:\/\/127\.0\.0\.1:/) as unknown;
  expect(await mint("ok")).toMatchObject({ status: "MINTED", url });
  expect(await mint("publicUrl")).toMatchObject({ status: "UNAVAILABLE" });
});
