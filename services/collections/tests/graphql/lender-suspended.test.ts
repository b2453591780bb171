import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterFile } from "@collections/testing";
import { beforeAll, describe, expect, test, vi } from "vitest";
import { commandsHere } from "../fixtures/commands.ts";
import { type DoorStage, doorStage, type DoorVisit } from "../fixtures/door-stage.ts";
import { aRow, startTestService, type TestService } from "../fixtures/fixture.ts";
import type { Cli } from "../fixtures/processes.ts";

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const REFUSED = {
  __typename: "CaseNotWorkable",
  code: "LENDER_SUSPENDED",
  message: "The lender is suspended: do not contact the borrower.",
};
const WAIT = { timeout: 20_000, interval: 50 };
const HOUR_MS = 3_600_000;

let service: TestService;
let stage: DoorStage;
let cli: Cli;
let visited: DoorVisit;
let unvisited: { loan: string; caseId: string };
let liveLinkId: string;
let queuedLinkId: string;
const folder = mkdtempSync(join(tmpdir(), "collections-suspended-"));
afterFile(() => rmSync(folder, { recursive: true, force: true }));

function payment(reference: string) {
  return { amount: 1_000, reference, paidAt: new Date().toISOString(), mode: "upi" };
}

function startVisit(caseId: string, occurredAt = new Date()) {
  return stage.app.mutate("startVisit", { visitId: randomUUID(), caseId, occurredAt }, "visit { visitId }");
}

// Everything that a suspension stops exists before it: a visit under way, a live link, and a link whose mint call waits.
beforeAll(async () => {
  service = await startTestService({ works: false });
  cli = commandsHere({ DATABASE_URL: service.databaseUrl });
  stage = await doorStage(service);
  visited = await stage.visit();
  const worker = await startTestService({ settings: { DATABASE_URL: service.databaseUrl } });
  liveLinkId = (await stage.request(visited.visitId, { channels: [] }))["paymentLink"].id;
  await vi.waitUntil(async () => (await stage.link(liveLinkId))["status"] === "MINTED", WAIT);
  await worker.worker!.stop(2_000);
  const other = await stage.visit();
  queuedLinkId = (await stage.request(other.visitId, { channels: ["EMAIL"] }))["paymentLink"].id;
  unvisited = await stage.visit();
  await cli.json("lender", "suspend", stage.lender.code, "--reason", "the contract ended");
  await vi.waitUntil(async () => (await stage.lender.importCases([aRow("LN-POLL")])).status === 403, WAIT);
});

describe("while the lender is suspended", () => {
  test("visits, links, messages and contacts are refused with CaseNotWorkable, code LENDER_SUSPENDED", async () => {
    const { caseId, visitId } = visited;
    expect(await startVisit(unvisited.caseId)).toEqual(REFUSED);
    expect(await stage.request(visitId)).toEqual(REFUSED);
    const resent = { paymentLinkId: liveLinkId, channels: ["EMAIL"] };
    expect(await stage.app.mutate("resendPaymentLink", resent, "paymentLink { id }")).toEqual(REFUSED);
    expect(await stage.app.mutate("revealContact", { caseId }, "contact { __typename }")).toEqual(REFUSED);
  });

  test("its cases are not workable, in the case and in the filter of the list", async () => {
    const list = (workable: boolean) =>
      stage.app.ask(
        `{ cases(filter: { workable: ${workable} }, first: 100) { edges { node { workable blockedReason } } } }`,
      );
    expect((await list(true)).data!["cases"].edges).toEqual([]);
    const blocked = (await list(false)).data!["cases"].edges as { node: object }[];
    expect(blocked).toHaveLength(3);
    for (const { node } of blocked) expect(node).toEqual({ workable: false, blockedReason: REFUSED.message });
  });

  test("a visit under way may end, and a visit from before that is reported late is recorded", async () => {
    const end = { visitId: visited.visitId, disposition: "NOT_AT_HOME", occurredAt: new Date() };
    expect(await stage.app.mutate("completeVisit", end, "visit { visitId }")).toMatchObject({
      __typename: "CompleteVisitPayload",
    });
    const late = await startVisit(unvisited.caseId, new Date(Date.now() - 5 * HOUR_MS));
    expect(late).toMatchObject({ __typename: "StartVisitPayload" });
  });

  test("imports are refused with 403, also rehearsals, and nothing of them is applied", async () => {
    for (const options of [{}, { dryRun: true }]) {
      const { status, body } = await stage.lender.importCases([aRow("LN-NEW")], options);
      expect({ status, code: body["code"] }).toEqual({ status: 403, code: "LENDER_SUSPENDED" });
    }
    expect(await stage.lender.getCase("LN-NEW")).toMatchObject({ status: 404 });
  });

  test("the import of a file is refused with 1 before anything is applied", async () => {
    const file = join(folder, "cases.csv");
    writeFileSync(file, "Loan No,Customer Name,Mob No,POS\nLN-FILE,Ravi Kumar,9820000001,5000\n");
    for (const how of ["--yes", "--dry-run"]) {
      const { code, stdout } = await cli("case", "import", file, "--lender", stage.lender.code, how, "--json");
      const detail = `Lender ${stage.lender.code} is suspended. Resume it first: lender resume ${stage.lender.code} --reason …`;
      expect({ code, ...JSON.parse(stdout) }).toEqual({ code: 1, error: { code: "LENDER_SUSPENDED", detail } });
    }
    expect(await stage.lender.getCase("LN-FILE")).toMatchObject({ status: 404 });
  });

  test("confirmations are booked, and health, cases, deliveries, replays and the webhook test answer", async () => {
    const { lender } = stage;
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
  });

  test("events are delivered, and a link that waited for its mint call gets none", async () => {
    const calls = stage.lender.mints.length;
    const worker = await startTestService({ settings: { DATABASE_URL: service.databaseUrl } });
    await expect.poll(async () => (await stage.link(queuedLinkId))["status"], { timeout: 20_000 }).toBe("UNAVAILABLE");
    const kinds = () => stage.lender.deliveries.map(({ kind }) => kind);
    await expect.poll(kinds, { timeout: 20_000 }).toContain("payment.collected");
    await expect.poll(kinds, { timeout: 20_000 }).toContain("payment_link.unavailable");
    expect(stage.lender.mints).toHaveLength(calls);
    await worker.worker!.stop(2_000);
  });
});

test("the command says what stops, what goes on, and how to stop a leaked key", async () => {
  const { code, stdout } = await cli("lender", "suspend", stage.lender.code, "--reason", "again");
  const help = await cli("lender", "suspend", "--help");
  expect(code).toBe(0);
  for (const text of [stdout, help.stdout]) {
    expect(text).toMatch(/visits, payment links, messages to borrowers and imports are refused/);
    expect(text).toMatch(/Confirmations, reads and webhook\s+deliveries continue/);
    expect(text).toContain("key revoke <key-id>");
  }
});

test("after `lender resume` imports and visits go on", async () => {
  await cli.json("lender", "resume", stage.lender.code, "--reason", "a new contract");
  await expect
    .poll(async () => (await stage.lender.importCases([aRow("LN-AGAIN")])).status, { timeout: 5_000 })
    .toBe(200);
  expect(await startVisit(visited.caseId)).toMatchObject({ __typename: "StartVisitPayload" });
});
