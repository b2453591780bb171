import { dayIn } from "@collections/local-time";
import { beforeAll, expect, test } from "vitest";
import { aLender, aRow, startTestService, type TestService } from "../fixtures/fixture.ts";
import { aReconciliation } from "./fixtures/a-reconciliation.ts";
import { aLenderVisitor, aSignedInVisitor, type ConsoleAnswer, type Visitor } from "./fixtures/visitor.ts";

const ZONE = "Asia/Kolkata";
const PAYMENTS = 60;

let service: TestService;
let lender: Awaited<ReturnType<typeof aLender>>;
let other: Awaited<ReturnType<typeof aLender>>;
let operator: Visitor;
let staff: Visitor;

beforeAll(async () => {
  service = await startTestService({ hasWorker: false });
  lender = await aLender(service);
  other = await aLender(service);
  for (const one of [lender, other])
    await one.importCases([aRow("LN-1", { outstandingAmount: 100_000 }), aRow("LN-2")]);
  for (let number = 1; number <= PAYMENTS; number++) await confirm(lender, "LN-1", `UTR-${number}`);
  await confirm(other, "LN-2", "UTR-OTHER");
  const reversedAt = new Date().toISOString();
  const reversal = { reference: "UTR-7", reversalReference: "RV-1", amount: 40, reason: "bounced", reversedAt };
  await lender.reverse("LN-1", reversal);
  operator = await aSignedInVisitor(service);
  staff = await aLenderVisitor(service, lender.code);
});

async function confirm(by: typeof lender, loan: string, reference: string): Promise<void> {
  const payment = { amount: 100, reference, paidAt: new Date().toISOString(), mode: "upi" };
  expect(await by.confirm(loan, payment)).toMatchObject({ status: 200 });
}

function referencesIn({ text }: ConsoleAnswer): string[] {
  return [...text.matchAll(/<th scope="row">\s*(?:<a [^>]+>)?((?:UTR|RV)-\w+)/g)].map(([, reference]) => reference!);
}

function nextIn({ text }: ConsoleAnswer): string {
  return /<p class="more"><a href="([^"]+)">Earlier/.exec(text)![1]!.replaceAll("&amp;", "&");
}

test("Payments lists each payment of the lender once, the latest first", async () => {
  const first = await operator.get(`/console/payments?lender=${lender.code}`);
  const second = await operator.get(nextIn(first));
  const expected = Array.from({ length: PAYMENTS }, (_, index) => `UTR-${PAYMENTS - index}`);
  expect([...referencesIn(first), ...referencesIn(second)]).toEqual(expected);
  expect(second.text).not.toContain('class="more"');
  expect(second.text).toMatch(/>UTR-7<[^]*?>40\.00 INR</);
});

test("Payments shows what was recorded until a day of the lender", async () => {
  const at = (days: number) => dayIn(ZONE, new Date(Date.now() + days * 86_400_000));
  const path = `/console/payments?lender=${lender.code}&until=`;
  expect(referencesIn(await operator.get(path + at(-1)))).toEqual([]);
  expect(referencesIn(await operator.get(path + at(0)))[0]).toBe(`UTR-${PAYMENTS}`);
});

test.each(["until=2026-02-30", "until=yesterday", "until=", "before=x", "before=before_0", "kind=other"])(
  "Payments ignores the value of %s",
  async (query) => {
    const page = await operator.get(`/console/payments?lender=${lender.code}&${query}`);
    expect([page.status, referencesIn(page)[0]]).toEqual([200, `UTR-${PAYMENTS}`]);
  },
);

test("Payments lists the reversals with their reasons", async () => {
  const { text } = await operator.get(`/console/payments?lender=${lender.code}&kind=reversals`);
  expect(referencesIn({ text } as ConsoleAnswer)).toEqual(["RV-1"]);
  expect(text).toMatch(/Bounced<[^]*>UTR-7</);
});

test("a reconciliation shows the differences of one list", async () => {
  const runId = await aReconciliation(lender);
  const list = await operator.get(`/console/reconciliations?lender=${lender.code}`);
  expect(list.text).toContain(`/console/reconciliations/${lender.code}/${runId}`);
  const path = `/console/reconciliations/${lender.code}/${runId}`;
  const missing = await operator.get(path);
  expect(missing.text).toMatch(/Only yours \(1\)[^]*Only ours \(\d+\)/);
  expect(missing.text).toContain(`UTR-${lender.code}-MISSING`);
  const booked = await operator.get(`${path}?list=onlyOurs`);
  expect(booked.text).toContain("UTR-1<");
  expect(booked.text).not.toContain("MISSING");
  const unknown = await operator.get(`${path}?list=toString&after=-1`);
  expect(unknown.text).toContain(`UTR-${lender.code}-MISSING`);
});

test("a lender's staff sees payments, cases and reconciliations of the lender alone", async () => {
  const runId = await aReconciliation(lender);
  const foreign = await aReconciliation(other, "LN-2");
  for (const path of ["/console/payments", "/console/cases", "/console/reconciliations"]) {
    const { status, text } = await staff.get(path);
    expect({ path, status }).toEqual({ path, status: 200 });
    expect(text).not.toContain(other.code);
    const asked = await staff.get(`${path}?lender=${other.code}`);
    expect(asked.text).toContain("There is no such lender.");
    expect(asked.text).not.toMatch(/UTR-OTHER|rec_/);
  }
  expect(await staff.get(`/console/reconciliations/${lender.code}/${runId}`)).toMatchObject({ status: 200 });
  for (const [code, run] of [
    [other.code, foreign],
    [lender.code, foreign],
    [other.code, runId],
  ]) {
    expect(await staff.get(`/console/reconciliations/${code}/${run}`)).toMatchObject({ status: 404 });
  }
});

test("a lender's staff sees who has a case, without a page of the person", async () => {
  const { text } = await staff.get("/console/cases");
  expect(text).toContain("LN-1");
  expect(text).not.toContain("/field-partners");
});
