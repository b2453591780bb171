import { publicId } from "@collections/database";
import { beforeAll, describe, expect, test } from "vitest";
import { commandsInProcess } from "../fixtures/commands.ts";
import { startTestService, type TestService } from "../fixtures/fixture.ts";
import { type VisitSetup, visitSetup } from "../fixtures/visit-setup.ts";
import { aSignedInVisitor, type ConsoleAnswer, fieldsIn, type Visitor } from "./fixtures/visitor.ts";

let service: TestService;
let visitor: Visitor;
let paymentsMade = 0;

beforeAll(async () => {
  service = await startTestService({ hasWorker: false });
  visitor = await aSignedInVisitor(service, ["money"], "Meena");
});

function cli() {
  return commandsInProcess({ DATABASE_URL: service.databaseUrl });
}

const today = () => new Date().toISOString().slice(0, 10);

/** Confirms a payment on a new case, and returns its name and its page. */
async function aPayment(setup: VisitSetup, amount: number) {
  paymentsMade += 1;
  const { loan } = await setup.assignedCase();
  const reference = `UTR/${paymentsMade}`;
  const paidAt = new Date().toISOString();
  await setup.lender.confirm(loan, { amount, reference, paidAt, mode: "upi" });
  const { code } = setup.lender;
  return { code, loan, reference, page: `/console/money/payments/${code}/${loan}/${encodeURIComponent(reference)}` };
}

/** Sends the form of a page that shows the effects of a change. */
function effectsOf(fields: Record<string, string>): Promise<ConsoleAnswer> {
  return visitor.get(`/console/money/changes?${new URLSearchParams(fields).toString()}`);
}

function reversalOf({ code, loan, reference }: Awaited<ReturnType<typeof aPayment>>, more = {}) {
  const name = { kind: "reversal", lenderCode: code, loan, reference };
  return {
    ...name,
    reversalReference: `RV-${reference}`,
    reversedAt: new Date().toISOString(),
    amount: "",
    because: "bounced",
    note: "",
    ...more,
  };
}

async function shownPayment({ code, loan, reference }: Awaited<ReturnType<typeof aPayment>>) {
  return cli().json("payment", "show", code, loan, reference) as Promise<{ reversals: Record<string, unknown>[] }>;
}

async function auditOf(act: string) {
  const { entries } = (await cli().json("audit", "list", "--act", act)) as { entries: Record<string, unknown>[] };
  return entries;
}

describe("a payout", () => {
  test("is recorded with the amount that is due, once", async () => {
    const setup = await visitSetup(service);
    await aPayment(setup, 5_000);
    const person = publicId("fp", setup.fieldPartnerId);
    const path = `/console/money/payouts/${person}`;
    expect((await visitor.get("/console/money")).text).toContain(`href="${path}"`);
    const page = await visitor.get(path);
    expect(page.text).toContain("125.00 INR");
    const fields = { ...fieldsIn(page), reference: "UTR-PO-1", paidOn: today() };
    const effects = await effectsOf(fields);
    expect(effects).toMatchObject({ status: 200, text: expect.stringContaining("UTR-PO-1") as string });
    const form = fieldsIn(effects);
    const answer = await visitor.post("/console/money/changes", form);
    expect(answer.headers.get("location")).toBe(`${path}?done=payout`);
    expect((await visitor.get(`${path}?done=payout`)).text).toMatch(/The payout is recorded\.[^]*No money is owed\./);
    const again = await visitor.post("/console/money/changes", form);
    expect({ status: again.status, to: again.headers.get("location") }).toEqual({ status: 303, to: path });
    const { payouts } = (await cli().json("payout", "list", "--field-partner", person)) as { payouts: object[] };
    expect(payouts).toMatchObject([{ amount: "125.00", reference: "UTR-PO-1", paidOn: today() }]);
    expect((await auditOf("payout."))[0]).toMatchObject({ by: "operator:Meena", act: "payout.recorded" });
  });

  test("is refused with another amount, without a reference, and for a day in the future", async () => {
    const setup = await visitSetup(service);
    await aPayment(setup, 5_000);
    const path = `/console/money/payouts/${publicId("fp", setup.fieldPartnerId)}`;
    const fields = { ...fieldsIn(await visitor.get(path)), reference: "UTR-PO-2", paidOn: today() };
    for (const [more, problem] of [
      [{ amount: "124" }, "The credited earnings are 125.00 INR, not 124.00."],
      [{ amount: "1.001" }, "Amount: "],
      [{ reference: " " }, "The bank reference has 1 to 64 printable ASCII characters."],
      [{ paidOn: "2026-02-30" }, "Give the day of the transfer."],
      [{ currency: "XXX" }, "Choose a currency."],
      [{ until: "soon" }, "Open the page of the payout again."],
    ] as const) {
      const answer = await effectsOf({ ...fields, ...more });
      expect(answer).toMatchObject({ status: 422, text: expect.stringContaining(problem) as string });
    }
    const form = { ...fieldsIn(await effectsOf(fields)), paidOn: "2099-01-01" };
    const answer = await visitor.post("/console/money/changes", form);
    expect(answer.text).toMatch(/name="reference"[^>]*value="UTR-PO-2"[^]*name="paidOn"[^>]*value="2099-01-01"/);
    expect(answer).toMatchObject({ status: 422, text: expect.stringContaining("is in the future") as string });
    expect(await visitor.get("/console/money/payouts/fp_0")).toMatchObject({ status: 404 });
  });
});

describe("a reversal", () => {
  test("shows its effects before it changes anything", async () => {
    const payment = await aPayment(await visitSetup(service), 2_000);
    expect((await visitor.get(payment.page)).text).toContain("2,000.00 INR");
    const effects = await effectsOf(reversalOf(payment));
    expect(effects.status).toBe(200);
    expect(effects.text).toContain("3,000.00 INR → 5,000.00 INR");
    expect((await shownPayment(payment)).reversals).toEqual([]);
    const answer = await visitor.post("/console/money/changes", fieldsIn(effects));
    expect(answer.headers.get("location")).toBe(`${payment.page}?done=reversal`);
    const { text } = await visitor.get(`${payment.page}?done=reversal`);
    expect(text).toContain("The payment is reversed.");
    expect(text).not.toContain("Reverse the payment</h2>");
    expect((await shownPayment(payment)).reversals).toMatchObject([{ amount: "2000.00", reason: "bounced" }]);
    expect((await auditOf("payment.reversed"))[0]).toMatchObject({ by: "operator:Meena", reason: "bounced" });
  });

  test("of a part leaves the rest, exactly as shown", async () => {
    const payment = await aPayment(await visitSetup(service), 2_000);
    const rest = fieldsIn(await effectsOf(reversalOf(payment)));
    const part = reversalOf(payment, { reversalReference: "RV-PART", amount: "500.50", note: "Cheque 1187" });
    expect(await visitor.post("/console/money/changes", fieldsIn(await effectsOf(part)))).toMatchObject({
      status: 303,
    });
    // The other form has shown the reversal of 2,000, of which 1,499.50 are left.
    const late = await visitor.post("/console/money/changes", rest);
    expect(late).toMatchObject({ status: 422, text: expect.stringContaining("1499.50 INR") as string });
    expect(late.text).toMatch(/name="reversedAt"[^>]*type="text"[^>]*value="[^"]+Z"/);
    expect((await shownPayment(payment)).reversals).toMatchObject([{ amount: "500.50", note: "Cheque 1187" }]);
  });

  test("is refused with its reason", async () => {
    const payment = await aPayment(await visitSetup(service), 2_000);
    for (const [more, problem] of [
      [{ amount: "2000.01" }, "have left 2000.00 INR"],
      [{ amount: "1e3" }, "Give the amount as in 1250.50."],
      [{ because: "" }, "Choose why the payment is reversed."],
      [{ reversalReference: "" }, "Give the lender&#39;s id of the reversal."],
      [{ reversedAt: "" }, "Give the time when the money was returned."],
      [{ reversedAt: "2020-01-01T10:00" }, "before the payment was captured"],
    ] as const) {
      const answer = await effectsOf(reversalOf(payment, more));
      expect(answer).toMatchObject({ status: 422, text: expect.stringContaining(problem) as string });
    }
    const typed = { amount: "9999.5", note: `"Cheque" 1187`, reversedAt: "2026-11-24T15:30" };
    const refused = await effectsOf(reversalOf(payment, typed));
    for (const value of ["9999.5", "&quot;Cheque&quot; 1187", "2026-11-24T15:30"])
      expect(refused.text).toContain(`value="${value}"`);
    expect(refused.text).toContain('<option value="bounced" selected>');
    expect(await effectsOf(reversalOf({ ...payment, reference: "UTR-NONE" }))).toMatchObject({ status: 404 });
    expect(await effectsOf(reversalOf({ ...payment, code: "NONE" }))).toMatchObject({ status: 404 });
    expect(await effectsOf(reversalOf(payment, { note: "a\u0000b" }))).toMatchObject({ status: 422 });
    expect(await effectsOf({ kind: "loan" })).toMatchObject({ status: 422 });
  });
});

describe("a move", () => {
  test("takes the payment to another loan, once", async () => {
    const setup = await visitSetup(service);
    const payment = await aPayment(setup, 2_000);
    const { loan: toLoan } = await setup.assignedCase();
    const { code: lenderCode, loan, reference } = payment;
    const order = { kind: "move", lenderCode, loan, reference, toLoan, note: "Asked by Acme" };
    const effects = await effectsOf(order);
    expect(effects.text).toContain(`Outstanding of ${toLoan}`);
    const answer = await visitor.post("/console/money/changes", fieldsIn(effects));
    expect(answer.headers.get("location")).toBe(`${payment.page}?done=move`);
    expect((await shownPayment(payment)).reversals).toMatchObject([{ amount: "2000.00", reason: "wrong_loan" }]);
    expect((await shownPayment({ ...payment, loan: toLoan })).reversals).toEqual([]);
    expect(await effectsOf(order)).toMatchObject({ status: 422, text: expect.stringContaining("already") as string });
    expect((await auditOf("payment.moved"))[0]).toMatchObject({ by: "operator:Meena", reason: "Asked by Acme" });
  });

  test("is refused without a loan, without a reason, and to the same loan", async () => {
    const { code: lenderCode, loan, reference } = await aPayment(await visitSetup(service), 2_000);
    const order = { kind: "move", lenderCode, loan, reference, toLoan: "NONE-1", note: "Asked by Acme" };
    for (const [more, problem] of [
      [{ toLoan: "" }, "Give the loan to which the payment belongs."],
      [{ note: "" }, "Give a reason."],
      [{ toLoan: loan }, "The payment is already on this loan."],
      [{}, "There is no case of this loan"],
    ] as const) {
      const answer = await effectsOf({ ...order, ...more });
      expect(answer).toMatchObject({ status: 422, text: expect.stringContaining(problem) as string });
    }
    expect((await effectsOf(order)).text).toMatch(/value="NONE-1"[^]*value="Asked by Acme"/);
  });
});

test("the form of the page Money leads to a payment", async () => {
  const { code, loan, reference, page } = await aPayment(await visitSetup(service), 100);
  const query = new URLSearchParams({ lenderCode: code, loan, reference }).toString();
  expect((await visitor.get(`/console/money/payments?${query}`)).headers.get("location")).toBe(page);
  expect((await visitor.get("/console/money/payments?loan=")).headers.get("location")).toBe("/console/money");
  expect(await visitor.get(`${page}x`)).toMatchObject({ status: 404 });
});

test("an operator without the role money sees no form for it", async () => {
  const operator = await aSignedInVisitor(service, ["viewer", "operator"]);
  const { text } = await operator.get("/console/money");
  expect(text).not.toMatch(/Reverse or move a payment|\/money\/payouts\//);
});
