import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterFile, until } from "@collections/testing";
import { beforeAll, describe, expect, test } from "vitest";
import { commandsInProcess } from "../fixtures/commands.ts";
import { type VisitSetup, visitSetup, type StartedVisit } from "../fixtures/visit-setup.ts";
import { aRow, startTestService, type TestService } from "../fixtures/fixture.ts";
import type { Cli } from "../fixtures/processes.ts";

const REFUSED = {
  __typename: "CaseNotWorkable",
  code: "LENDER_SUSPENDED",
  message: "The lender is suspended: do not contact the borrower.",
};
const HOUR_MS = 3_600_000;

let service: TestService;
let setup: VisitSetup;
let cli: Cli;
let visited: StartedVisit;
let unvisited: { loan: string; caseId: string };
let liveLinkId: string;
let queuedLinkId: string;
const folder = mkdtempSync(join(tmpdir(), "collections-suspended-"));
afterFile(() => rmSync(folder, { recursive: true, force: true }));

function payment(reference: string) {
  return { amount: 1_000, reference, paidAt: new Date().toISOString(), mode: "upi" };
}

function startVisit(caseId: string, occurredAt = new Date()) {
  return setup.app.mutate("startVisit", { visitId: randomUUID(), caseId, occurredAt }, "visit { visitId }");
}

// Before the suspension, creates everything that it affects: a started visit, a live link, and a link that waits for
// its mint call.
beforeAll(async () => {
  service = await startTestService({ hasWorker: false });
  cli = commandsInProcess({ DATABASE_URL: service.databaseUrl });
  setup = await visitSetup(service);
  visited = await setup.visit();
  const worker = await startTestService({ settings: { DATABASE_URL: service.databaseUrl } });
  liveLinkId = (await setup.request(visited.visitId, { channels: [] }))["paymentLink"].id;
  await until(async () => (await setup.link(liveLinkId))["status"] === "MINTED");
  await worker.worker!.stop(300_000);
  const other = await setup.visit();
  queuedLinkId = (await setup.request(other.visitId, { channels: ["EMAIL"] }))["paymentLink"].id;
  unvisited = await setup.visit();
  await cli.json("lender", "suspend", setup.lender.code, "--reason", "the contract ended");
  await until(async () => (await setup.lender.importCases([aRow("LN-POLL")])).status === 403);
});

describe("while the lender is suspended", () => {
  test("visits, links, messages and contacts are rejected with CaseNotWorkable, code LENDER_SUSPENDED", async () => {
    const { caseId, visitId } = visited;
    expect(await startVisit(unvisited.caseId)).toEqual(REFUSED);
    expect(await setup.request(visitId)).toEqual(REFUSED);
    const resent = { paymentLinkId: liveLinkId, channels: ["EMAIL"] };
    expect(await setup.app.mutate("resendPaymentLink", resent, "paymentLink { id }")).toEqual(REFUSED);
    expect(await setup.app.mutate("revealContact", { caseId }, "contact { __typename }")).toEqual(REFUSED);
  });

  test("its cases are not workable, both in the field `workable` and in the filter of the case list", async () => {
    const list = (workable: boolean) =>
      setup.app.ask(
        `{ cases(filter: { workable: ${workable} }, first: 100) { edges { node { workable blockedReason blockedReasonCode } } } }`,
      );
    expect((await list(true)).data!["cases"].edges).toEqual([]);
    const blocked = (await list(false)).data!["cases"].edges as { node: object }[];
    expect(blocked).toHaveLength(3);
    for (const { node } of blocked)
      expect(node).toEqual({
        workable: false,
        blockedReason: REFUSED.message,
        blockedReasonCode: "LENDER_SUSPENDED",
      });
  });

  test("a started visit can be completed, and a visit from before the suspension is still recorded", async () => {
    const end = { visitId: visited.visitId, disposition: "NOT_AT_HOME", occurredAt: new Date() };
    expect(await setup.app.mutate("completeVisit", end, "visit { visitId }")).toMatchObject({
      __typename: "CompleteVisitPayload",
    });
    const late = await startVisit(unvisited.caseId, new Date(Date.now() - 5 * HOUR_MS));
    expect(late).toMatchObject({ __typename: "StartVisitPayload" });
  });

  test("imports and dry runs get 403, and apply nothing", async () => {
    for (const options of [{}, { dryRun: true }]) {
      const { status, body } = await setup.lender.importCases([aRow("LN-NEW")], options);
      expect({ status, code: body["code"] }).toEqual({ status: 403, code: "LENDER_SUSPENDED" });
    }
    expect(await setup.lender.getCase("LN-NEW")).toMatchObject({ status: 404 });
  });

  test("`case import` of a file exits with 1 and applies nothing", async () => {
    const file = join(folder, "cases.csv");
    writeFileSync(file, "Loan No,Customer Name,Mob No,POS\nLN-FILE,Ravi Kumar,9820000001,5000\n");
    for (const how of ["--yes", "--dry-run"]) {
      const { code, stdout } = await cli("case", "import", file, "--lender", setup.lender.code, how, "--json");
      const detail = `Lender ${setup.lender.code} is suspended. Resume it first: lender resume ${setup.lender.code} --reason …`;
      expect({ code, ...JSON.parse(stdout) }).toEqual({ code: 1, error: { code: "LENDER_SUSPENDED", detail } });
    }
    expect(await setup.lender.getCase("LN-FILE")).toMatchObject({ status: 404 });
  });

  test("confirmations are booked, and health, cases, deliveries, replays and the webhook test work", async () => {
    const { lender } = setup;
    expect(await lender.health()).toMatchObject({ status: 200 });
    expect(await lender.confirm(visited.loan, payment("pay_1"))).toMatchObject({
      status: 200,
      body: { outstandingAfter: 4_000 },
    });
    expect(await lender.confirm(visited.loan, payment("pay_1"))).toMatchObject({ status: 409 });
    expect(await lender.getCase(visited.loan)).toMatchObject({ status: 200, body: { totalCollected: 1_000 } });
    const list = await lender.call("GET", "/api/v1/partner/webhooks/deliveries");
    expect(list).toMatchObject({ status: 200 });
    const [{ eventId }] = list.body["deliveries"] as [{ eventId: string }];
    const one = `/api/v1/partner/webhooks/deliveries/${eventId}`;
    expect(await lender.call("GET", one)).toMatchObject({ status: 200 });
    expect(await lender.call("POST", `${one}/replay`)).toMatchObject({ status: 202 });
    expect(await lender.call("POST", "/api/v1/partner/webhooks/test")).toMatchObject({
      status: 200,
      body: { delivered: true },
    });
    const mintTest = await lender.call("POST", "/api/v1/partner/mint-link/test", { loan: visited.loan });
    expect(mintTest).toMatchObject({ status: 200, body: { minted: true } });
  });

  test("events are delivered, and a link that waited for its mint call becomes unavailable without the call", async () => {
    const calls = setup.lender.mints.length;
    const worker = await startTestService({ settings: { DATABASE_URL: service.databaseUrl } });
    await expect.poll(async () => (await setup.link(queuedLinkId))["status"]).toBe("UNAVAILABLE");
    const kinds = () => setup.lender.deliveries.map(({ kind }) => kind);
    await expect.poll(kinds).toContain("payment.collected");
    await expect.poll(kinds).toContain("payment_link.unavailable");
    expect(setup.lender.mints).toHaveLength(calls);
    await worker.worker!.stop(300_000);
  });
});

test("`lender suspend` says what stops, what continues, and how to revoke a leaked key", async () => {
  const { code, stdout } = await cli("lender", "suspend", setup.lender.code, "--reason", "again");
  const help = await cli("lender", "suspend", "--help");
  expect(code).toBe(0);
  for (const text of [stdout, help.stdout]) {
    expect(text).toMatch(/visits, payment links, messages to borrowers and imports are refused/);
    expect(text).toMatch(/Confirmations, reads and webhook\s+deliveries continue/);
    expect(text).toContain("key revoke <key-id>");
  }
});

test("after `lender resume` imports and visits work again", async () => {
  await cli.json("lender", "resume", setup.lender.code, "--reason", "a new contract");
  await expect.poll(async () => (await setup.lender.importCases([aRow("LN-AGAIN")])).status).toBe(200);
  expect(await startVisit(visited.caseId)).toMatchObject({ __typename: "StartVisitPayload" });
});
