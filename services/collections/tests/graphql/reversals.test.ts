import { publicId } from "@collections/database";
import { dayIn } from "@collections/local-time";
import { afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { commandsInProcess } from "../fixtures/commands.ts";
import { startTestService, type TestService } from "../fixtures/fixture.ts";
import type { Cli } from "../fixtures/processes.ts";
import { visitSetup, type VisitSetup } from "../fixtures/visit-setup.ts";
import { SyncedPhone } from "./fixtures/synced-phone.ts";

const MONEY = "{ minor decimal display }";
const REVERSAL = `{ reversalReference reference amount ${MONEY} payment { decimal } reason reversedAt }`;
const LINE = `{ id amount ${MONEY} status formula calculation { baseBefore { decimal } } reversedAt reversal ${REVERSAL} }`;

let service: TestService;
let setup: VisitSetup;
let cli: Cli;

beforeAll(async () => {
  service = await startTestService();
  setup = await visitSetup(service);
  cli = commandsInProcess({ DATABASE_URL: service.databaseUrl });
});

async function pay(loan: string, reference: string, amount: number, linkId?: string): Promise<void> {
  const payment = { amount, reference, paidAt: new Date().toISOString(), mode: "upi", ...(linkId && { linkId }) };
  expect(await setup.lender.confirm(loan, payment)).toMatchObject({ status: 200 });
}

/** Reverses a payment by the operators' command, and returns the reversal's reference. */
async function reverse(loan: string, reference: string, ...more: string[]): Promise<string> {
  const reversalReference = `RV-${loan}-${reference}-${more.join("")}`;
  await cli.json(
    "payment",
    "reverse",
    setup.lender.code,
    loan,
    reference,
    "--reversal-reference",
    reversalReference,
    "--reversed-at",
    new Date().toISOString(),
    "--reason",
    "bank_reversed",
    "--yes",
    ...more,
  );
  return reversalReference;
}

/** Pays the credited earnings of the field partner in `setup` out. */
async function payOut(amount: string): Promise<void> {
  const fieldPartner = publicId("fp", setup.fieldPartnerId);
  const reference = `UTR-${setup.lender.code}`;
  const paidOn = dayIn("Asia/Kolkata", new Date());
  const how = ["--currency", "INR", "--reference", reference, "--paid-on", paidOn, "--amount", amount];
  await cli.json("payout", "record", fieldPartner, ...how);
}

interface ShownCase {
  readonly status: string;
  readonly reversals: object[];
  readonly earnings: readonly { readonly id: string }[];
}

async function caseOf(caseId: string): Promise<ShownCase> {
  const selection = `status outstanding { decimal } totalCollected { decimal } reversals ${REVERSAL} earnings ${LINE}`;
  const { data } = await setup.app.ask(`query ($id: ID!) { case(id: $id) { ${selection} } }`, { id: caseId });
  return data!["case"] as ShownCase;
}

describe("a payment that is reversed", () => {
  test("makes its credited earning REVERSED, with the reason, and the case shows the reversal", async () => {
    const { loan, caseId } = await setup.assignedCase();
    await pay(loan, "A", 5000);
    const reversalReference = await reverse(loan, "A");
    const reversal = {
      reversalReference,
      reference: "A",
      amount: { minor: "500000", decimal: "5000.00", display: "₹5,000.00" },
      payment: { decimal: "5000.00" },
      reason: "BANK_REVERSED",
      reversedAt: expect.stringMatching(/Z$/) as string,
    };
    expect(await caseOf(caseId)).toMatchObject({
      status: "IN_PROGRESS",
      outstanding: { decimal: "5000.00" },
      totalCollected: { decimal: "0.00" },
      reversals: [reversal],
      earnings: [
        { amount: { decimal: "125.00" }, status: "REVERSED", reversedAt: expect.any(String) as string, reversal },
      ],
    });
  });

  test("in part adds a line below 0 with its own calculation", async () => {
    const { loan, caseId } = await setup.assignedCase();
    await pay(loan, "A", 2000);
    await reverse(loan, "A", "--amount", "800");
    expect((await caseOf(caseId)).earnings).toMatchObject([
      { amount: { decimal: "50.00" }, status: "PENDING", reversedAt: null, reversal: null },
      {
        amount: { minor: "-2000", decimal: "-20.00", display: "-₹20.00" },
        status: "PENDING",
        formula: "2.5% of ₹1,200.00 instead of ₹2,000.00",
        calculation: { baseBefore: { decimal: "2000.00" } },
        reversedAt: null,
        reversal: { amount: { decimal: "800.00" }, payment: { decimal: "2000.00" } },
      },
    ]);
  });

  describe("after the payout", () => {
    let before: VisitSetup;

    beforeEach(async () => {
      before = setup;
      setup = await visitSetup(service);
    });

    afterEach(() => {
      setup = before;
    });

    test("adds a credited line below 0 to the period's sums", async () => {
      const { loan, caseId } = await setup.assignedCase();
      await pay(loan, "A", 5000);
      await payOut("125");
      await reverse(loan, "A");
      const sums = "earned pending credited paidOut deducted".replaceAll(/\w+/g, "$& { decimal }");
      const { data } = await setup.app.ask(`{ earnings(period: THIS_MONTH) { ${sums} } }`);
      expect(data!["earnings"]).toEqual({
        earned: [{ decimal: "0.00" }],
        pending: [{ decimal: "0.00" }],
        credited: [{ decimal: "-125.00" }],
        paidOut: [{ decimal: "125.00" }],
        deducted: [{ decimal: "125.00" }],
      });
      expect((await caseOf(caseId)).earnings).toMatchObject([
        { status: "PAID_OUT", amount: { decimal: "125.00" }, reversal: null },
        { status: "CREDITED", amount: { decimal: "-125.00" }, formula: "2.5% of ₹0.00 instead of ₹5,000.00" },
      ]);
    });

    test("comes with sync as its case and the credited line", async () => {
      const { loan } = await setup.assignedCase();
      await pay(loan, "A", 5000);
      await payOut("125");
      const phone = new SyncedPhone(setup.app);
      await phone.sync();
      await age(setup.fieldPartnerId);
      expect(await phone.sync()).toMatchObject([{ earningLines: [] }]);
      await reverse(loan, "A");
      expect(await phone.sync()).toMatchObject([
        { cases: [{ status: "IN_PROGRESS" }], earningLines: [{ status: "CREDITED" }] },
      ]);
    });
  });

  test("sets reversedAt on its link, whose status stays PAID, and the link comes with sync", async () => {
    const { loan, visitId } = await setup.visit();
    const { paymentLink } = (await setup.request(visitId)) as { paymentLink: { id: string } };
    const minted = () => [...setup.lender.links].find(([, link]) => link.sourceLoanNumber === loan)?.[0];
    await expect.poll(minted).toBeDefined();
    await setup.lender.pay(minted()!);
    const selection = "status paidAt reversedAt";
    await expect.poll(async () => (await setup.link(paymentLink.id))["status"]).toBe("PAID");
    expect(await setup.link(paymentLink.id, selection)).toMatchObject({ status: "PAID", reversedAt: null });
    const phone = new SyncedPhone(setup.app);
    await phone.sync();
    await age(setup.fieldPartnerId);
    expect(await phone.sync()).toMatchObject([{ paymentLinks: [] }]);
    const capture = setup.lender.captures.find(({ sourceLoanNumber }) => sourceLoanNumber === loan);
    await reverse(loan, capture!.reference);
    expect(await setup.link(paymentLink.id, selection)).toMatchObject({
      status: "PAID",
      reversedAt: expect.any(String) as string,
    });
    expect(await phone.sync()).toMatchObject([{ paymentLinks: [{ id: paymentLink.id, status: "PAID" }] }]);
  });

  test("from an earlier cycle is shown on its earning, but not to a field partner who does not hold the case", async () => {
    const { loan, caseId } = await setup.assignedCase();
    await pay(loan, "A", 5000);
    const first = await caseOf(caseId);
    await setup.lender.importCases([{ sourceLoanNumber: loan, borrowerName: "Ravi", outstandingAmount: 700 }]);
    await reverse(loan, "A");
    const [line] = first.earnings;
    const query = `query ($id: ID!) { node(id: $id) { ... on EarningLine { status reversal { reason } } } }`;
    expect((await setup.app.ask(query, { id: line!.id })).data).toEqual({
      node: { status: "REVERSED", reversal: { reason: "BANK_REVERSED" } },
    });
    const stranger = await visitSetup(service);
    expect((await stranger.app.ask(query, { id: line!.id })).data).toEqual({ node: null });
    const { data } = await stranger.app.ask("query ($id: ID!) { case(id: $id) { reversals { reason } } }", {
      id: caseId,
    });
    expect(data).toEqual({ case: null });
  });
});

test("an app of an earlier version, which does not select the new fields, still gets a valid answer", async () => {
  const { loan, caseId } = await setup.assignedCase();
  await pay(loan, "A", 5000);
  await reverse(loan, "A");
  const before = "earnings { id amount { display } status formula caseId reference earnedAt creditedAt paidOutAt }";
  const { data, errors } = await setup.app.ask(`query ($id: ID!) { case(id: $id) { ${before} } }`, { id: caseId });
  expect(errors).toBeUndefined();
  expect(data!["case"].earnings).toMatchObject([{ status: "REVERSED", creditedAt: expect.any(String) as string }]);
});

/**
 * Makes all rows of a field partner an hour older, so that the next sync returns only what changes from now on. The rows
 * may then belong to the day or the month before.
 */
async function age(fieldPartnerId: string): Promise<void> {
  const { pool } = service.app.database;
  const earlier = (columns: string[]) =>
    columns.map((column) => `${column} = ${column} - interval '1 hour'`).join(", ");
  await pool.query(`update cases.collection_case set ${earlier(["updated_at"])} where assigned_field_partner_id = $1`, [
    fieldPartnerId,
  ]);
  await pool.query(
    `update earnings.earning set ${earlier(["earned_at", "credited_at", "paid_out_at"])} where field_partner_id = $1`,
    [fieldPartnerId],
  );
  await pool.query(
    `update payment_links.link_delivery set ${earlier(["updated_at"])}
     where payment_link_id in (select id from payment_links.payment_link where field_partner_id = $1)`,
    [fieldPartnerId],
  );
  await pool.query(
    `update payment_links.payment_link set ${earlier(["created_at", "updated_at"])} where field_partner_id = $1`,
    [fieldPartnerId],
  );
}
