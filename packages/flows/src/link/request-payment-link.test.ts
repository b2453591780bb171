import { newId, transaction } from "@collections/database";
import { currency } from "@collections/money";
import { describe, expect, test } from "vitest";
import {
  inTransaction,
  aFieldPartner,
  ENVIRONMENT,
  eventsOfLoan,
  flowsDatabase,
  importRow,
} from "../../tests/fixture.ts";
import { jobsWith, linkStage } from "../../tests/link-stage.ts";
import { assignCase, closeCase, holdCase } from "../case/change-case.ts";
import { mintPaymentLinkQueue } from "./link-jobs.ts";
import { type PaymentLinkRequest, requestPaymentLink } from "./request-payment-link.ts";

const database = await flowsDatabase();
const { lender, fieldPartner, visitedCase, request, twin } = await linkStage(database);

const INR = currency("INR");

function ask(visitId: string, given: Partial<PaymentLinkRequest> = {}) {
  const asked = { fieldPartnerId: fieldPartner.id, visitId, amountMinor: 250_000n, currency: INR, ...given };
  return inTransaction(database, requestPaymentLink, asked, {});
}

describe("a request for a link", () => {
  test("is answered at once, and enqueues a job that calls the lender", async () => {
    const { theCase, visitId } = await visitedCase();
    const outcome = await ask(visitId, { channels: ["email"] });
    expect(outcome).toMatchObject({
      kind: "requested",
      link: { status: "requested", caseId: theCase.id, visitId, amountMinor: 250_000n, channels: ["email"], url: null },
    });
    const linkId = outcome.kind === "requested" ? outcome.link.id : "";
    expect(await jobsWith(database, mintPaymentLinkQueue, linkId)).toEqual([
      { lenderId: lender.id, linkId, caseId: theCase.id },
    ]);
    expect(twin.mints).toEqual([]);
    expect(await eventsOfLoan(database, theCase)).toHaveLength(3);
  });

  test("that is repeated has the same mint key", async () => {
    const { visitId } = await visitedCase();
    const [first, second] = await Promise.all([request(visitId), request(visitId)]);
    expect(second.mintKey).toBe(first.mintKey);
    expect((await request(visitId, { amountMinor: 100n })).mintKey).not.toBe(first.mintKey);
  });

  test("on an unknown visit or another field partner's visit is not found", async () => {
    const { visitId } = await visitedCase();
    const stranger = await aFieldPartner(database);
    expect(await ask(newId())).toEqual({ kind: "visit_not_found" });
    expect(await ask(visitId, { fieldPartnerId: stranger.id })).toEqual({ kind: "visit_not_found" });
  });

  test.each([
    ["1 minor unit is accepted", { amountMinor: 1n }, {}, "requested"],
    ["the outstanding amount is accepted", { amountMinor: 500_000n }, {}, "requested"],
    ["more than the outstanding amount is refused", { amountMinor: 500_001n }, {}, "amount_not_allowed"],
    ["0 is refused", { amountMinor: 0n }, {}, "amount_not_allowed"],
    ["less than 0 is refused", { amountMinor: -1n }, {}, "amount_not_allowed"],
    ["an amount in another currency is refused", { currency: currency("USD") }, {}, "amount_not_allowed"],
    ["the minimum is accepted", { amountMinor: 50_000n }, { minimumAmount: 500 }, "requested"],
    ["less than the minimum is refused", { amountMinor: 49_999n }, { minimumAmount: 500 }, "amount_not_allowed"],
    [
      "the whole outstanding amount, below the minimum, is accepted",
      { amountMinor: 500_000n },
      { minimumAmount: 9_000 },
      "requested",
    ],
  ])("for %s", async (_, given, row, kind) => {
    const { visitId } = await visitedCase(row);
    expect(await ask(visitId, given)).toMatchObject({ kind });
  });

  test("returns the minimum and the maximum if the amount is outside them", async () => {
    const { visitId } = await visitedCase({ minimumAmount: 500 });
    expect(await ask(visitId, { amountMinor: 1n })).toEqual({
      kind: "amount_not_allowed",
      minimumMinor: 50_000n,
      maximumMinor: 500_000n,
      currency: "INR",
    });
  });

  test("returns the reason if the case is not workable", async () => {
    const [held, ended, taken, resting] = await Promise.all(Array.from({ length: 4 }, () => visitedCase()));
    const order = (at: typeof held) => ({ lender, loan: at!.theCase.sourceLoanNumber, reason: "test" });
    const stranger = await aFieldPartner(database);
    await holdCase(database.em(), order(held), ENVIRONMENT);
    await closeCase(database.em(), order(ended), ENVIRONMENT);
    await assignCase(database.em(), { ...order(taken), fieldPartnerId: stranger.id }, ENVIRONMENT);
    const { sourceLoanNumber, borrowerName, borrowerPhone } = resting!.theCase;
    const until = new Date(Date.now() + 72 * 3_600_000).toISOString().slice(0, 10);
    const row = { sourceLoanNumber, borrowerName, borrowerPhone, outstandingAmount: 5_000, doNotContactUntil: until };
    await importRow(database, lender, row);
    const outcomes = await Promise.all([held, ended, taken, resting].map((at) => ask(at!.visitId)));
    expect(outcomes).toEqual([
      { kind: "case_not_workable", code: "ON_HOLD" },
      { kind: "case_not_workable", code: "ENDED" },
      { kind: "case_not_workable", code: "NOT_ASSIGNED" },
      { kind: "case_not_workable", code: "DO_NOT_CONTACT" },
    ]);
  });

  test("leaves neither link nor job when the caller's transaction fails", async () => {
    const { theCase, visitId } = await visitedCase();
    let linkId = "";
    const failing = transaction(database.em(), async (tx) => {
      const asked = { fieldPartnerId: fieldPartner.id, visitId, amountMinor: 100n, currency: INR };
      const outcome = await requestPaymentLink(tx, asked, {});
      if (outcome.kind === "requested") linkId = outcome.link.id;
      throw new Error(`rolled back: ${theCase.id}`);
    });
    await expect(failing).rejects.toThrow("rolled back");
    expect(linkId).not.toBe("");
    expect(await jobsWith(database, mintPaymentLinkQueue, linkId)).toEqual([]);
  });
});
