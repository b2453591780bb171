import type { Answer } from "@collections/lender-twin";
import { verifyBooks } from "@collections/flows";
import { lenderByCode } from "@collections/lenders";
import { caseByLoan } from "@collections/cases";
import { beforeAll, describe, expect, test } from "vitest";
import { aFieldPartner, aLender, aRow, assign, startTestService, type TestService } from "../fixtures/fixture.ts";
import { type LoanEvent, loanEvents } from "../fixtures/loan-events.ts";
import { expectEventsInOrder } from "./fixtures/events-in-order.ts";

let service: TestService;
let lender: Awaited<ReturnType<typeof aLender>>;

beforeAll(async () => {
  service = await startTestService();
  lender = await aLender(service);
});

function payment(fields: object = {}) {
  return { amount: 2500, reference: "pay_1", paidAt: "2026-11-20T09:40:55Z", mode: "upi", ...fields };
}

function codesOf({ body }: Answer): string[] {
  return (body["warnings"] as { code: string }[]).map(({ code }) => code);
}

/** Assigns a loan, and stores a minted link for its case. */
async function aLinkOf(loan: string, { linkId, amountMinor }: { linkId: string; amountMinor: number }): Promise<void> {
  const { id } = (await caseByLoan(service.app.database.em(), await lenderId(), loan))!;
  const { id: fieldPartnerId } = await aFieldPartner(service);
  await assign(service, lender.code, loan, fieldPartnerId);
  const values = [await lenderId(), id, loan, amountMinor, linkId, fieldPartnerId];
  await service.app.database.pool.query(
    `insert into payment_links.payment_link (lender_id, id, case_id, source_loan_number, visit_id, field_partner_id,
       amount_minor, currency, status, link_id, url, mint_key, mint_started_at, minted_at, channels, created_at, updated_at)
     values ($1, gen_random_uuid(), $2, $3, gen_random_uuid(), $6, $4, 'INR', 'minted', $5,
       'https://pay.example/1', gen_random_uuid(), now(), now(), '{}', now(), now())`,
    values,
  );
}

async function lenderId(): Promise<string> {
  return (await lenderByCode(service.app.database.em(), lender.code))!.id;
}

function events(loan: string): Promise<LoanEvent[]> {
  return loanEvents(service, lender.code, loan);
}

describe("a payment confirmation", () => {
  test("of a part of the outstanding amount moves the case to in_progress and emits payment.collected", async () => {
    await lender.importCases([aRow("LN-1")]);
    const answer = await lender.confirm("LN-1", payment());
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({
      success: true,
      outstandingAfter: 2500,
      status: "in_progress",
      reference: "pay_1",
      sequence: 2,
      totalCollected: 2500,
      excessAmount: 0,
      attribution: "none",
      warnings: [],
    });
    expect(answer.body["caseId"]).toMatch(/^case_[0-9a-f]{32}$/);
    const [created, collected] = await events("LN-1");
    expect(created).toMatchObject({ kind: "case.created", sequence: 1, status: "new", outstandingAfter: 5000 });
    expect(collected).toMatchObject({
      eventId: expect.stringMatching(/^evt_[0-9a-f]{32}$/) as string,
      kind: "payment.collected",
      version: 1,
      env: "sandbox",
      lenderCode: lender.code,
      sourceLoanNumber: "LN-1",
      caseId: answer.body["caseId"],
      cycle: 1,
      sequence: 2,
      status: "in_progress",
      currency: "INR",
      totalCollected: 2500,
      outstandingAfter: 2500,
      data: { reference: "pay_1", amount: 2500, mode: "upi", paidAt: "2026-11-20T09:40:55.000Z", linkId: null },
    });
  });

  test("of more than the outstanding amount closes the case once, credits the earning, and books the rest as excess", async () => {
    const fieldPartner = await aFieldPartner(service);
    await lender.importCases([aRow("LN-2", { outstandingAmount: 100 })]);
    await assign(service, lender.code, "LN-2", fieldPartner.id);
    const answer = await lender.confirm("LN-2", payment({ amount: 130.5, paidAt: new Date().toISOString() }));
    expect(answer.body).toMatchObject({
      outstandingAfter: 0,
      status: "collected",
      totalCollected: 130.5,
      excessAmount: 30.5,
      attribution: "inferred",
    });
    const kinds = (await events("LN-2")).map(({ kind, outstandingAfter, status }) => [kind, outstandingAfter, status]);
    expect(kinds.slice(2)).toEqual([
      ["payment.collected", 0, "collected"],
      ["case.closed", 0, "collected"],
    ]);
    const { rows } = await service.app.database.pool.query(
      "select amount_minor::text, status from earnings.earning where source_loan_number = 'LN-2'",
    );
    expect(rows).toEqual([{ amount_minor: "250", status: "credited" }]);

    const after = await lender.confirm("LN-2", payment({ reference: "pay_2", amount: 1 }));
    expect(after.body).toMatchObject({
      status: "collected",
      outstandingAfter: 0,
      totalCollected: 131.5,
      excessAmount: 1,
    });
    expect((await events("LN-2")).map(({ kind }) => kind).filter((kind) => kind === "case.closed")).toHaveLength(1);
  });

  test("that repeats a reference gets 409 with the original booking and the names of the fields that differ", async () => {
    await lender.importCases([aRow("LN-3")]);
    const first = await lender.confirm("LN-3", payment({ linkId: "unknown" }));
    expect(first.body["warnings"]).toMatchObject([{ code: "LINK_NOT_RECOGNISED", pointer: "/linkId" }]);
    const same = await lender.confirm("LN-3", payment({ linkId: "unknown" }));
    expect(same.status).toBe(409);
    expect(same.body).toMatchObject({
      code: "DUPLICATE_CONFIRMATION",
      retryable: false,
      matches: true,
      differences: [],
      original: { ...first.body, amount: 2500, mode: "upi", paidAt: "2026-11-20T09:40:55.000Z", linkId: "unknown" },
    });
    const changed = await lender.confirm("LN-3", payment({ amount: 10, linkId: "unknown", reference: " pay_1 " }));
    expect(changed.body).toMatchObject({
      matches: false,
      detail:
        "This reference is booked already, with another amount; the first booking remains valid. Nothing new was booked: " +
        "a payment of its own needs another reference.",
      differences: ["amount"],
      original: same.body["original"],
    });
  });

  test("that repeats a reversed payment gets 409 with its reversals", async () => {
    await lender.importCases([aRow("LN-12")]);
    await lender.confirm("LN-12", payment());
    const { body: unreversed } = await lender.confirm("LN-12", payment());
    expect(unreversed).toMatchObject({ reversedAmount: 0, reversals: [] });
    const path = "/api/v1/partner/cases/LN-12/payments/reverse";
    const reversedAt = "2026-11-21T09:00:00.000Z";
    const reverse = (reversalReference: string, amount?: number) =>
      lender.call("POST", path, { reference: "pay_1", reversalReference, amount, reversedAt, reason: "bounced" });

    await reverse("return_1", 500);
    const part = await lender.confirm("LN-12", payment());
    expect(part.body).toMatchObject({
      matches: true,
      detail: "This payment is booked already. 500.00 INR of it was reversed later.",
      reversedAmount: 500,
    });

    await reverse("return_2");
    const whole = await lender.confirm("LN-12", payment());
    expect(whole).toMatchObject({ status: 409, body: { matches: true, original: unreversed["original"] } });
    expect(whole.body).toMatchObject({
      detail:
        "This payment was booked and later reversed in full, so it is not booked now. To book it again, confirm it with " +
        "another reference.",
      reversedAmount: 2500,
      reversals: [
        { reversalReference: "return_1", amount: 500, reason: "bounced", reversedAt },
        { reversalReference: "return_2", amount: 2000, reason: "bounced", reversedAt },
      ],
    });
    expect((await lender.confirm("LN-12", payment({ mode: "card" }))).body).toMatchObject({
      matches: false,
      detail: expect.stringContaining("with another mode, was booked and later reversed in full") as string,
      reversedAmount: 2500,
    });
    const again = await lender.confirm("LN-12", payment({ reference: "pay_2" }));
    expect(again).toMatchObject({ status: 200, body: { totalCollected: 2500, outstandingAfter: 2500 } });
    expect((await lender.confirm("LN-12", payment({ reference: "pay_2" }))).body).toMatchObject({ reversals: [] });
  });

  test("reads every JSON notation of an amount exactly, and rejects amounts that are not valid", async () => {
    await lender.importCases([aRow("LN-4", { outstandingAmount: 1_000_000 })]);
    const texts = ["2500", "2500.0", "2.5E3", "25e2", "0.1", "0.10", "1234.56"];
    for (const [index, amount] of texts.entries()) {
      const body = JSON.stringify(payment({ reference: `r${index}` })).replace("2500", amount);
      expect((await lender.call("POST", "/api/v1/partner/cases/LN-4/payments/confirm", body)).status).toBe(200);
    }
    expect((await lender.getCase("LN-4")).body).toMatchObject({
      totalCollected: 11_234.76,
      outstandingAfter: 988_765.24,
    });
    const refused = ["1e400", "-0", "1.0000000001", "0", "1e999999999", "true", '"2500"', "[2500]", "null"];
    for (const amount of refused) {
      const body = JSON.stringify(payment({ reference: "odd" })).replace("2500", amount);
      const answer = await lender.call("POST", "/api/v1/partner/cases/LN-4/payments/confirm", body);
      expect([amount, answer.status]).toEqual([amount, 422]);
    }
  });

  test("of 100 times the outstanding amount is rejected unless amountIsMajorUnits is set", async () => {
    await lender.importCases([aRow("LN-5", { outstandingAmount: 25 })]);
    const doubtful = await lender.confirm("LN-5", payment());
    expect(doubtful.body).toMatchObject({ code: "AMOUNT_LOOKS_LIKE_MINOR_UNITS" });
    const meant = await lender.confirm("LN-5", payment({ amountIsMajorUnits: true }));
    expect(meant.body).toMatchObject({ status: "collected", excessAmount: 2475 });
  });

  test("of 2,500 sent as 250000 on a loan of 5,000 is booked with two warnings", async () => {
    await lender.importCases([aRow("LN-10")]);
    const sent = payment({ amount: 250_000 });
    const answer = await lender.confirm("LN-10", sent);
    expect(answer).toMatchObject({ status: 200, body: { status: "collected", excessAmount: 245_000 } });
    expect(codesOf(answer)).toEqual(["AMOUNT_ABOVE_OUTSTANDING", "AMOUNT_LOOKS_LIKE_MINOR_UNITS"]);
    const { warnings } = answer.body;
    expect((await lender.confirm("LN-10", sent)).body).toMatchObject({ original: { warnings } });

    // The warning says how to correct the booking.
    const path = "/api/v1/partner/cases/LN-10/payments/reverse";
    const rest = { amount: 247_500, reason: "entered_by_mistake", reversedAt: new Date().toISOString() };
    expect(warnings).toMatchObject([{}, { detail: expect.stringContaining("reverse 247500.00 INR") as string }]);
    const corrected = await lender.call("POST", path, { reference: "pay_1", reversalReference: "fix_1", ...rest });
    expect(corrected.body).toMatchObject({ totalCollected: 2500, outstandingAfter: 2500, excessAmount: 0 });
  });

  test("by a link warns about another amount and about a second payment", async () => {
    await lender.importCases([aRow("LN-11")]);
    await aLinkOf("LN-11", { linkId: "plink_11", amountMinor: 200_000 });
    const pay = async (reference: string, amount: number) =>
      codesOf(await lender.confirm("LN-11", payment({ reference, amount, linkId: "plink_11" })));
    expect(await pay("first", 2000)).toEqual([]);
    expect(await pay("second", 100)).toEqual(["AMOUNT_DIFFERS_FROM_LINK", "LINK_ALREADY_PAID"]);

    await aLinkOf("LN-11", { linkId: "plink_12", amountMinor: 10_000 });
    const again = (reference: string) =>
      lender.confirm("LN-11", payment({ reference, amount: 100, linkId: "plink_12" }));
    expect(codesOf(await again("bounces"))).toEqual([]);
    await lender.call("POST", "/api/v1/partner/cases/LN-11/payments/reverse", {
      reference: "bounces",
      reversalReference: "return_1",
      reversedAt: new Date().toISOString(),
      reason: "bounced",
    });
    expect(codesOf(await again("paid again"))).toEqual([]);
  });

  test("with an unknown mode or a misspelt field is booked with a warning", async () => {
    await lender.importCases([aRow("LN-6")]);
    const answer = await lender.confirm("LN-6", payment({ mode: "Barter", linkID: "x" }));
    expect(answer.status).toBe(200);
    expect(answer.body["warnings"]).toMatchObject([
      { code: "UNKNOWN_FIELD", pointer: "/linkID", detail: expect.stringContaining("linkId") as string },
      { code: "UNKNOWN_MODE", pointer: "/mode" },
    ]);
  });

  test("with a mode of several words is booked as other", async () => {
    await lender.importCases([aRow("LN-9")]);
    for (const mode of ["UPI Collect", "Net Banking", "<script>", "x".repeat(64)]) {
      const sent = payment({ mode: ` ${mode}`, amount: 1, reference: mode });
      const answer = await lender.confirm("LN-9", sent);
      expect([mode, answer.status]).toEqual([mode, 200]);
      const detail = `The mode ${mode} is unknown and is booked as other; the text that was sent is stored too.`;
      expect(answer.body["warnings"]).toEqual([{ code: "UNKNOWN_MODE", pointer: "/mode", detail }]);
      expect((await lender.confirm("LN-9", sent)).body).toMatchObject({ matches: true, original: { mode: "other" } });
      const another = await lender.confirm("LN-9", { ...sent, mode: "UPI Intent" });
      expect(another.body).toMatchObject({ matches: false, differences: ["mode"] });
    }
    const stored = "select raw_mode from ledger.payment_booking where source_loan_number = 'LN-9' order by id";
    const { rows } = await service.app.database.pool.query<{ raw_mode: string }>(stored);
    expect(rows.map(({ raw_mode }) => raw_mode)).toEqual(["UPI Collect", "Net Banking", "<script>", "x".repeat(64)]);
  });

  test.each([
    ["", "REQUIRED"],
    [" ", "REQUIRED"],
    ["x".repeat(65), "TOO_LONG"],
    ["a\u0000b", "INVALID_TEXT"],
    ["UPI\nCollect", "INVALID_TEXT"],
    ["\ud800", "INVALID_TEXT"],
  ])("with the mode %j is refused as %s", async (mode, code) => {
    const answer = await lender.confirm("LN-1", payment({ mode, reference: "odd mode" }));
    expect(answer.body).toMatchObject({ status: 422, code, errors: [{ pointer: "/mode" }] });
  });

  test("with an impossible linkId is booked with a warning", async () => {
    await lender.importCases([aRow("LN-7")]);
    const blank = await lender.confirm("LN-7", payment({ linkId: " " }));
    expect([blank.status, blank.body["warnings"]]).toEqual([200, []]);
    for (const linkId of ["x".repeat(129), "a\u0000b"]) {
      const odd = await lender.confirm("LN-7", payment({ reference: linkId.slice(0, 1), amount: 1, linkId }));
      expect(odd.status).toBe(200);
      expect(odd.body["warnings"]).toMatchObject([{ code: "LINK_NOT_RECOGNISED", pointer: "/linkId" }]);
    }
  });

  test("is booked even if it has unknown fields with odd names", async () => {
    await lender.importCases([aRow("LN-8")]);
    const names = ["a\u0000b", "\ud800", `${"x".repeat(63)}😀`, "__proto__", ""];
    for (const [index, name] of names.entries()) {
      const body = JSON.stringify(payment({ reference: `r${index}`, amount: 1 })).replace(
        "{",
        `{${JSON.stringify(name)}:1,`,
      );
      const answer = await lender.call("POST", "/api/v1/partner/cases/LN-8/payments/confirm", body);
      expect([name, answer.status]).toEqual([name, 200]);
      expect(answer.body["warnings"]).toMatchObject([{ code: "UNKNOWN_FIELD" }]);
    }
  });

  test("for a loan number with a NUL gets LOAN_NOT_FOUND", async () => {
    const answer = await lender.call("POST", "/api/v1/partner/cases/LN%00/payments/confirm", payment());
    expect(answer.body).toMatchObject({ status: 404, code: "LOAN_NOT_FOUND" });
  });

  test("without a body and Content-Type gets MALFORMED_JSON", async () => {
    const path = "/api/v1/partner/cases/LN-1/payments/confirm";
    const empty = await lender.call("POST", path, "", { contentType: null });
    expect(empty.body).toMatchObject({ code: "MALFORMED_JSON" });
  });

  test("works for a loan number with a slash if the signature covers the encoded path", async () => {
    await lender.importCases([aRow("MUM/2023/00123")]);
    expect((await lender.confirm("MUM/2023/00123", payment())).status).toBe(200);
    expect((await lender.getCase("MUM/2023/00123")).body).toMatchObject({ sourceLoanNumber: "MUM/2023/00123" });
  });
});

test("after all confirmations of this file the books are correct, and every event was delivered in order", async () => {
  expect(await verifyBooks(service.app.database.em(), { now: new Date() })).toMatchObject({ ok: true, problems: [] });
  await expectEventsInOrder(service, lender, ["LN-1", "LN-2", "LN-3"]);
});
