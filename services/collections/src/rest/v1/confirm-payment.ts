import { type Booking, type Reversal, reversalsOf } from "@collections/bookings";
import { CASE_STATUSES } from "@collections/cases";
import { publicId } from "@collections/database";
import {
  type Confirmation,
  type ConfirmationOutcome,
  PAYMENT_MODE_CHARACTERS,
  PAYMENT_MODES,
  paymentMode,
  reversalBody,
} from "@collections/flows";
import { AmountLiteral, toDecimal, toWire } from "@collections/money";
import { z } from "zod";
import type { App } from "../../app.ts";
import type { Answer } from "../../http/answer.ts";
import { Problem, validationProblem } from "../../http/problem.ts";
import type { SignedRequest } from "../caller/signed-request.ts";
import {
  amountAnswer,
  caseIdAnswer,
  countAnswer,
  instantAnswer,
  successAnswer,
  warningAnswer,
} from "../endpoint/answer-parts.ts";
import { KIB, type SignedEndpoint } from "../endpoint/endpoint.ts";
import { fieldFaults, unknownFieldWarnings, type Warning } from "../reading/field-faults.ts";
import { jsonObject } from "../reading/json-body.ts";
import { instant, text, textFault } from "../reading/wire-types.ts";
import { attributionAnswer, capturedPaymentAnswer } from "./captured-payment.ts";
import { capturedPayment, CASE_ID, RECORDED_AT } from "./examples.ts";
import { couldBeLoan, LOAN, loanNotFound } from "./loan-in-path.ts";

const AMOUNT_KEYS = new Set(["amount"]);
const LINK_ID_CHARACTERS = 128;
/** The maximum length of a reference (contract: Payment confirmation request). */
export const REFERENCE_CHARACTERS = 128;

/** The body of a confirmation (contract: Payment confirmation request). */
const confirmationBody = z.object({
  amount: z
    .instanceof(AmountLiteral, { error: "takes a JSON number in major units, such as 2500 or 2500.5, not a string" })
    .meta({ description: "The captured amount, in major units.", type: "number", exclusiveMinimum: 0 }),
  reference: text(REFERENCE_CHARACTERS).meta({
    description:
      "Your id of the payment. Together with the loan it is the idempotency key. It has no invisible " +
      "characters, and is compared and stored in Unicode NFC.",
  }),
  paidAt: instant().meta({ description: "When the payment was captured: ISO 8601 with Z or an offset." }),
  mode: text(PAYMENT_MODE_CHARACTERS).meta({
    description: `The payment mode: ${PAYMENT_MODES.join(", ")}, or a text of your own, which is booked as other.`,
  }),
  linkId: z
    .string({ error: "takes a string" })
    .nullish()
    .meta({
      description:
        "The `linkId` of your answer to the mint call. A payment with an unknown `linkId` is booked with a " +
        "warning.",
    }),
  partOf: text(REFERENCE_CHARACTERS)
    .nullish()
    .meta({
      description:
        "The `reference` of a payment of the loan that was booked with too low an amount: this payment is the rest of it. It " +
        "is a payment of its own all the same. An unknown reference causes a warning.",
    }),
  amountIsMajorUnits: z
    .boolean({ error: "takes true or false" })
    .nullish()
    .meta({ description: "True confirms that the amount is in major units, although it looks like minor units." }),
});

/** The answer to the first confirmation of a payment (contract: Payment confirmation response). */
const bookingAnswer = z
  .object({
    success: successAnswer,
    caseId: caseIdAnswer,
    outstandingAfter: amountAnswer("The amount that is owed after this payment."),
    status: z
      .enum(CASE_STATUSES)
      .extract(["in_progress", "collected"])
      .meta({ description: "The status of the case after this payment: `collected` if nothing is owed." }),
    reference: capturedPaymentAnswer.reference,
    partOf: capturedPaymentAnswer.partOf,
    sequence: countAnswer("The sequence number of the event `payment.collected` of this payment."),
    totalCollected: amountAnswer("Everything that was captured on the case, minus everything that was reversed."),
    excessAmount: amountAnswer("The part of this payment that was not owed."),
    inBalance: amountAnswer(
      "The part of this payment that your balance already included, because it was captured at or before " +
        "`outstandingAsOf`. This part does not change `outstandingAfter`. 0 if there is none.",
    ),
    attribution: attributionAnswer,
    recordedAt: instantAnswer("When the payment was booked."),
    warnings: z.array(warningAnswer).meta({ description: "Warnings about the request." }),
  })
  .meta({ description: "A booked payment, and the state of the case after it." });

/** The original booking, as an answer returns it when the same payment is confirmed again. */
export const originalAnswer = bookingAnswer
  .extend(capturedPaymentAnswer)
  .meta({ description: "The first booking: its answer with status 200, and the content of its request." });

const bookingExample = {
  success: true,
  caseId: CASE_ID,
  outstandingAfter: 1800,
  status: "in_progress",
  reference: capturedPayment.reference,
  partOf: null,
  sequence: 14,
  totalCollected: 4200,
  excessAmount: 0,
  inBalance: 0,
  attribution: "exact",
  recordedAt: RECORDED_AT,
  warnings: [],
};

export const originalExample = { ...bookingExample, ...capturedPayment };

/** Books a captured payment once (contract: Partner endpoints). */
export const confirmPayment: SignedEndpoint = {
  name: "confirm",
  method: "POST",
  path: "/api/v1/partner/cases/{loan}/payments/confirm",
  limitBytes: 16 * KIB,
  operation: {
    id: "confirmPayment",
    tag: "Payments",
    summary: "Book a captured payment, exactly once",
    description: [
      "The lender, the loan and the `reference` are the idempotency key, which never expires. Send the same bytes until the",
      "answer is 200 or 409. A repeat is answered with 409 and the first booking. With `matches: true` the payment is booked;",
      "with `matches: false` another payment has this reference, and nothing new is booked.",
    ].join("\n"),
    parameters: [LOAN],
    request: {
      schemas: { PaymentConfirmation: confirmationBody },
      required: true,
      examples: { "A payment with a link": { ...capturedPayment, paidAt: "2026-12-03T10:47:31+05:30" } },
    },
    answers: {
      200: {
        description: "The payment is booked.",
        schemas: { Booking: bookingAnswer },
        examples: { "A part of the outstanding amount": bookingExample },
      },
    },
    problems: [
      "LOAN_NOT_FOUND",
      "DUPLICATE_CONFIRMATION",
      "REQUIRED",
      "WRONG_TYPE",
      "TOO_LONG",
      "INVALID_TEXT",
      "INVALID_DATE",
      "NOT_UTC",
      "INVALID_ENUM",
      "AMOUNT_PRECISION",
      "AMOUNT_OUT_OF_RANGE",
      "AMOUNT_LOOKS_LIKE_MINOR_UNITS",
      "PAID_AT_IN_FUTURE",
      "LINK_LOAN_MISMATCH",
    ],
  },
  handle: book,
};

async function book(request: SignedRequest, app: App): Promise<Answer> {
  const confirmation = readConfirmation(request);
  if (!couldBeLoan(confirmation.loan)) throw loanNotFound();
  const outcome = await app.confirmPayment(confirmation);
  switch (outcome.kind) {
    case "booked":
      return { status: 200, body: bookingBody(outcome.booking) };
    case "duplicate":
      throw duplicate(outcome, await reversalsOfBooking(outcome.original, app));
    case "refused":
      if (outcome.pointer === undefined) throw new Problem(outcome.code, outcome.detail);
      throw validationProblem([{ code: outcome.code, pointer: outcome.pointer, detail: outcome.detail }]);
  }
}

function readConfirmation(request: SignedRequest): Confirmation {
  const body = jsonObject(request, AMOUNT_KEYS);
  const parsed = confirmationBody.safeParse(body);
  const warnings: Warning[] = unknownFieldWarnings(body, Object.keys(confirmationBody.shape));
  if (!parsed.success) {
    throw validationProblem(fieldFaults(parsed.error, body), warnings.length > 0 ? { warnings } : {});
  }
  const mode = paymentMode(parsed.data.mode);
  if (!mode) throw new Error(`The mode ${JSON.stringify(parsed.data.mode)} passed the schema but cannot be read.`);
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
    partOf: parsed.data.partOf ?? null,
    mode: mode.mode,
    rawMode: mode.rawMode,
    warnings: [...warnings, ...mode.warnings, ...link.warnings],
    acceptedAt: request.acceptedAt,
  };
}

/**
 * Reads a linkId. Captured money is never refused because of its linkId: a blank linkId counts as absent, and an
 * invalid linkId causes a warning.
 */
function readLinkId(given: string | null | undefined): { linkId: string | null; warnings: Warning[] } {
  const linkId = given?.trim() ?? "";
  if (linkId === "") return { linkId: null, warnings: [] };
  if (textFault(linkId, LINK_ID_CHARACTERS) === undefined) return { linkId, warnings: [] };
  const detail = `A linkId has 1 to ${LINK_ID_CHARACTERS} printable characters; the payment was booked without it.`;
  return { linkId: null, warnings: [{ code: "LINK_NOT_RECOGNISED", pointer: "/linkId", detail }] };
}

/** Returns the body of the answer to a first confirmation. The answer to a repeat has the same body in `original`. */
function bookingBody(booking: Booking): object {
  const { currency } = booking;
  return {
    success: true,
    caseId: publicId("case", booking.caseId),
    outstandingAfter: toWire(booking.outstandingAfterMinor, currency),
    status: booking.statusAfter,
    reference: booking.reference,
    partOf: booking.partOf,
    sequence: Number(booking.sequence),
    totalCollected: toWire(booking.totalCollectedAfterMinor, currency),
    excessAmount: toWire(booking.excessMinor, currency),
    inBalance: toWire(booking.inBalanceMinor ?? 0n, currency),
    attribution: booking.attribution,
    recordedAt: booking.recordedAt.toISOString(),
    warnings: booking.warnings,
  };
}

async function reversalsOfBooking({ lenderId, sourceLoanNumber, id }: Booking, app: App): Promise<Reversal[]> {
  const ofLoan = await reversalsOf(app.database.em(), lenderId, sourceLoanNumber);
  return ofLoan.filter(({ bookingId }) => bookingId === id);
}

type Duplicate = Extract<ConfirmationOutcome, { kind: "duplicate" }>;

function duplicate({ original, differences }: Duplicate, reversals: readonly Reversal[]): Problem {
  const reversedMinor = reversals.reduce((sum, { amountMinor }) => sum + amountMinor, 0n);
  return new Problem("DUPLICATE_CONFIRMATION", duplicateDetail({ original, differences }, reversedMinor), {
    matches: differences.length === 0,
    differences,
    original: {
      ...bookingBody(original),
      amount: toWire(original.amountMinor, original.currency),
      mode: original.mode,
      paidAt: original.paidAt.toISOString(),
      linkId: original.linkId,
    },
    reversedAmount: toWire(reversedMinor, original.currency),
    reversals: reversals.map(reversalBody),
  });
}

function duplicateDetail({ original, differences }: Omit<Duplicate, "kind">, reversedMinor: bigint): string {
  const matches = differences.length === 0;
  const different = `This reference is booked already, with another ${differences.join(", ")}; the first booking remains valid.`;
  const advice = "Nothing new was booked: a payment of its own needs another reference.";
  if (reversedMinor === 0n) {
    return matches ? "This payment is booked already; treat this answer as success." : `${different} ${advice}`;
  }
  if (reversedMinor < original.amountMinor) {
    const reversed = `${toDecimal(reversedMinor, original.currency)} ${original.currency} of it was reversed later.`;
    return matches ? `This payment is booked already. ${reversed}` : `${different} ${reversed} ${advice}`;
  }
  const booked = matches ? "This payment" : `This reference, with another ${differences.join(", ")},`;
  return `${booked} was booked and later reversed in full, so it is not booked now. To book it again, confirm it with another reference.`;
}
