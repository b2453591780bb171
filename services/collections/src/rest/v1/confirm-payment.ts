import { publicId } from "@collections/database";
import { type Confirmation, type ConfirmationOutcome, PAYMENT_MODES, paymentMode } from "@collections/flows";
import type { Booking } from "@collections/ledger";
import { AmountLiteral, toWire } from "@collections/money";
import { z } from "zod";
import { fieldFaults, unknownFieldWarnings, type Warning } from "../field-faults.ts";
import { jsonObject } from "../json-body.ts";
import { Problem, validationProblem } from "../../http/problem.ts";
import type { Answer } from "../../http/answer.ts";
import type { SignedRequest } from "../request-context.ts";
import { instant, text, textFault } from "../wire-types.ts";
import { couldBeLoan, loanNotFound } from "./get-case.ts";

const AMOUNT_KEYS = new Set(["amount"]);
const LINK_ID_CHARACTERS = 128;

/** Payment confirmation request (contract: Payment confirmation request). */
export const confirmationBody = z.object({
  amount: z
    .instanceof(AmountLiteral, { error: "takes a JSON number in major units, such as 2500 or 2500.5, not a string" })
    .meta({ description: "Amount captured, in major units.", type: "number", exclusiveMinimum: 0 }),
  reference: text(128).meta({
    description:
      "Your transaction identifier; the idempotency key together with the loan. Without invisible characters; compared " +
      "and kept in Unicode's NFC.",
  }),
  paidAt: instant().meta({ description: "When the payment was captured: ISO 8601 with Z or an offset." }),
  mode: text(40).meta({ description: `Payment mode: ${PAYMENT_MODES.join(", ")}, or a token of your own.` }),
  linkId: z
    .string({ error: "takes a string" })
    .nullish()
    .meta({ description: "The linkId of the mint-link response. One that no link has is booked with a warning." }),
  amountIsMajorUnits: z
    .boolean({ error: "takes true or false" })
    .nullish()
    .meta({ description: "True confirms that an amount of exactly 100 times what is owed is meant." }),
});

/** POST /api/v1/partner/cases/{loan}/payments/confirm (contract: Partner endpoints): books a captured payment once. */
export async function confirmPayment(
  request: SignedRequest,
  confirm: (confirmation: Confirmation) => Promise<ConfirmationOutcome>,
): Promise<Answer> {
  const confirmation = readConfirmation(request);
  if (!couldBeLoan(confirmation.loan)) throw loanNotFound();
  const outcome = await confirm(confirmation);
  switch (outcome.kind) {
    case "booked":
      return { status: 200, body: bookingBody(outcome.booking) };
    case "duplicate":
      throw duplicate(outcome);
    case "refused":
      if (outcome.pointer === undefined) throw new Problem(outcome.code, outcome.detail);
      throw validationProblem([{ code: outcome.code, pointer: outcome.pointer, detail: outcome.detail }]);
  }
}

function readConfirmation(request: SignedRequest): Confirmation {
  const body = jsonObject(request, AMOUNT_KEYS);
  const parsed = confirmationBody.safeParse(body);
  const warnings: Warning[] = unknownFieldWarnings(body, Object.keys(confirmationBody.shape));
  const mode = typeof body["mode"] === "string" ? paymentMode(body["mode"]) : undefined;
  const faults = parsed.success ? [] : fieldFaults(parsed.error, body);
  if (parsed.success && mode === undefined) {
    const detail = `mode: takes a word such as upi, card or neft; got ${JSON.stringify(parsed.data.mode)}.`;
    faults.push({ code: "INVALID_ENUM", pointer: "/mode", detail });
  }
  if (!parsed.success || mode === undefined) throw validationProblem(faults, warnings.length > 0 ? { warnings } : {});
  const { amount, reference, paidAt, amountIsMajorUnits } = parsed.data;
  const link = readLinkId(parsed.data.linkId);
  return {
    lender: request.lender,
    loan: request.loan ?? "",
    amount,
    amountIsMajorUnits: amountIsMajorUnits === true,
    reference,
    paidAt,
    linkId: link.linkId,
    mode: mode.mode,
    rawMode: mode.rawMode,
    warnings: [...warnings, ...mode.warnings, ...link.warnings],
    acceptedAt: request.acceptedAt,
  };
}

/** Captured money is not refused for a linkId that no link can have: a blank one is none, an odd one is warned about. */
function readLinkId(given: string | null | undefined): { linkId: string | null; warnings: Warning[] } {
  const linkId = given?.trim() ?? "";
  if (linkId === "") return { linkId: null, warnings: [] };
  if (textFault(linkId, LINK_ID_CHARACTERS) === undefined) return { linkId, warnings: [] };
  const detail = `No link has an id like this (1 to ${LINK_ID_CHARACTERS} printable characters); booked without it.`;
  return { linkId: null, warnings: [{ code: "LINK_NOT_RECOGNISED", pointer: "/linkId", detail }] };
}

/** The 200 of a booking (contract: Payment confirmation response); the same again in the `original` of a repeat. */
function bookingBody(booking: Booking): object {
  const { currency } = booking;
  return {
    success: true,
    caseId: publicId("case", booking.caseId),
    outstandingAfter: toWire(booking.outstandingAfterMinor, currency),
    status: booking.statusAfter,
    reference: booking.reference,
    sequence: Number(booking.sequence),
    totalCollected: toWire(booking.totalCollectedAfterMinor, currency),
    excessAmount: toWire(booking.excessMinor, currency),
    inBalance: toWire(booking.inBalanceMinor ?? 0n, currency),
    attribution: booking.attribution,
    recordedAt: booking.recordedAt.toISOString(),
    warnings: booking.warnings,
  };
}

function duplicate({ original, differences }: Extract<ConfirmationOutcome, { kind: "duplicate" }>): Problem {
  const detail =
    differences.length === 0
      ? "This payment is booked already; treat this answer as success."
      : `This reference is booked already, with another ${differences.join(", ")}; the first booking stands.`;
  return new Problem("DUPLICATE_CONFIRMATION", detail, {
    matches: differences.length === 0,
    differences,
    original: {
      ...bookingBody(original),
      amount: toWire(original.amountMinor, original.currency),
      mode: original.mode,
      paidAt: original.paidAt.toISOString(),
      linkId: original.linkId,
    },
  });
}
