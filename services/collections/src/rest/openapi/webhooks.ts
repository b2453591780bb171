import { type CaseEventKind, CLOSE_REASONS } from "@collections/cases";
import { CHANNELS, UNAVAILABLE_REASONS } from "@collections/payment-links";
import { z } from "zod";
import {
  amountAnswer,
  caseIdAnswer,
  countAnswer,
  instantAnswer,
  loanAnswer,
  statusAnswer,
} from "../endpoint/answer-parts.ts";
import { attributionAnswer, capturedPaymentAnswer } from "../v1/captured-payment.ts";
import { fieldPartnerAnswer } from "../v1/case-answer.ts";
import { CASE_ID, fieldPartner, paymentCollected, paymentReversal, ping, VISIT_ID } from "../v1/examples.ts";
import { dispositionAnswer } from "../v1/get-case.ts";
import { changeAnswer } from "../v1/import-answer.ts";
import { importResultExample } from "../v1/import-examples.ts";
import { paymentReversalAnswer } from "../endpoint/payment-reversal-answer.ts";

/** A kind of event, as the OpenAPI document describes it. */
export interface EventKind {
  readonly kind: string;
  /** The name of the event's schema in the OpenAPI document. */
  readonly name: string;
  readonly summary: string;
  readonly schema: z.ZodType;
  readonly example: object;
}

const visitId = z.string().meta({ description: "The id of the visit, `vis_…`." });
const linkId = z.string().meta({ description: "The `linkId` in the answer of your mint endpoint." });
const linkAmount = amountAnswer("The amount that the link requests.");
const channels = z
  .array(z.enum(CHANNELS))
  .meta({ description: "The channels: the first that accepted the message, or all that did not accept it." });
const occurredAt = instantAnswer("The time of the visit's start or end, by the clock of the field partner's phone.");
const importId = z.string().meta({ description: "The id of the import, `imp_…`." });
const cycle = countAnswer("The number of the case among the cases of its loan, from 1.");
const ofHolder = z.object({ fieldPartner: fieldPartnerAnswer.nullable() });
const reason = z.object({ reason: z.string().nullable().meta({ description: "The reason, in words." }) });
const promise = z
  .object({
    amount: amountAnswer("The promised amount."),
    currency: z.string().meta({ description: "The ISO 4217 code of the currency." }),
    date: z.iso.date().meta({ description: "The last day for the payment, in your time zone." }),
  })
  .meta({ description: "The payment that the borrower promised." });
const ofPromise = z.object({
  visitId,
  promise,
  paidAmount: amountAnswer("The total of the case's payments from the promise to the end of the promised day."),
});
const ofPayment = z.object({
  ...capturedPaymentAnswer,
  visitId: visitId.nullable(),
  attribution: attributionAnswer,
  excessAmount: amountAnswer("The part of this payment that was not owed."),
  inBalance: amountAnswer("The part of this payment that your balance already included; 0 if there is none."),
});

const promiseExample = { amount: 1800, currency: "INR", date: "2026-12-07" };

/** For each kind: when it is sent, the schema of its data (contract: Event kinds), and an example of its data. */
const DATA: Readonly<Record<CaseEventKind, readonly [sentWhen: string, data: z.ZodType, example: object]>> = {
  "case.created": [
    "An import row created a case",
    z.object({ importId, cycle }),
    { importId: importResultExample.importId, cycle: 1 },
  ],
  "case.updated": [
    "An import row changed a case",
    z.object({
      importId,
      cycle,
      changes: z
        .array(changeAnswer)
        .meta({ description: "The changes. A change of personal data has only the name of the field." }),
    }),
    {
      importId: importResultExample.importId,
      cycle: 1,
      changes: [{ field: "outstandingAmount", from: 3200, to: 3000 }, { field: "borrowerPhone" }],
    },
  ],
  "case.assigned": ["The case was assigned to a field partner", ofHolder, { fieldPartner }],
  "case.unassigned": ["The case was unassigned from a field partner", ofHolder, { fieldPartner }],
  "case.held": ["The case was put on hold, and contact with the borrower is stopped", reason, { reason: "Dispute" }],
  "case.released": ["The case was released from hold: contact is allowed again", reason, { reason: null }],
  "case.withdrawn": ["You took the case back", reason, { reason: "Sold to another lender" }],
  "case.returned": ["The case ended without full payment", reason, { reason: "settled_by_lender" }],
  "case.closed": [
    "Payments cleared the case: one was confirmed, or a balance was imported that later payments cover",
    z.object({
      closeReason: z.enum(CLOSE_REASONS).extract(["paid_in_full"]).meta({ description: "The case was paid in full." }),
      reference: capturedPaymentAnswer.reference.meta({
        description: "The reference of the payment that cleared the case.",
      }),
      inBalance: amountAnswer(
        "The part of this payment that your balance already included and that was owed; absent if there is none.",
      ).optional(),
    }),
    { closeReason: "paid_in_full", reference: "txn_90315" },
  ],
  "visit.started": [
    "A field partner has started a visit",
    z.object({ visitId, occurredAt }),
    { visitId: VISIT_ID, occurredAt: "2026-12-03T05:16:20.000Z" },
  ],
  "visit.completed": [
    "A field partner has ended a visit",
    z.object({
      visitId,
      disposition: dispositionAnswer,
      occurredAt,
      promise: promise.nullable().meta({ description: "The borrower's promise; null if there is none." }),
      fieldPartner: fieldPartnerAnswer,
    }),
    {
      visitId: VISIT_ID,
      disposition: "PROMISE_TO_PAY",
      occurredAt: "2026-12-03T05:31:02.000Z",
      promise: promiseExample,
      fieldPartner,
    },
  ],
  "promise.kept": [
    "The borrower kept a promise by the end of the promised day",
    ofPromise,
    { visitId: VISIT_ID, promise: promiseExample, paidAmount: 1800 },
  ],
  "promise.broken": [
    "The borrower did not keep a promise by the end of the promised day",
    ofPromise,
    { visitId: VISIT_ID, promise: promiseExample, paidAmount: 500 },
  ],
  "payment_link.created": [
    "A payment link was minted",
    z.object({ visitId, linkId, amount: linkAmount }),
    { visitId: VISIT_ID, linkId: "plink_4c1", amount: 1200 },
  ],
  "payment_link.unavailable": [
    "A requested payment link is unavailable",
    z.object({
      visitId,
      amount: linkAmount,
      reason: z.enum(UNAVAILABLE_REASONS).meta({ description: "The reason why there is no link." }),
      detail: z.string().meta({ description: "The reason as a sentence, for a person who reads your log." }),
    }),
    { visitId: VISIT_ID, amount: 1200, reason: "timeout", detail: "No answer came within 10000 ms." },
  ],
  "payment_link.delivered": [
    "The first channel accepted the message with the link",
    z.object({ linkId, channels }),
    { linkId: "plink_4c1", channels: ["whatsapp"] },
  ],
  "payment_link.undelivered": [
    "No channel accepted the message with the link",
    z.object({ linkId, channels }),
    { linkId: "plink_4c1", channels: ["whatsapp", "email"] },
  ],
  "payment.reversed": [
    "A payment, or a part of it, was reversed",
    z.object({
      ...paymentReversalAnswer,
      caseId: caseIdAnswer.meta({
        description: "The case of the payment. It is an earlier case of the loan if the loan was placed again since.",
      }),
      cycle,
      inBalance: z.boolean().meta({
        description:
          "Whether your balance already included the reversal, so that the outstanding amount did not change.",
      }),
      totalReversed: amountAnswer("Everything that was reversed on the loan's current case."),
      excessAmount: amountAnswer("The part of the captured total of the loan's current case that is not owed."),
    }),
    { ...paymentReversal, caseId: CASE_ID, cycle: 1, inBalance: false, totalReversed: 1200, excessAmount: 0 },
  ],
  "case.reopened": [
    "An amount is owed on a collected case, which is in progress again: after a reversal, or because your balance is larger than known",
    z.object({
      reference: paymentReversalAnswer.reference.nullable().meta({
        description: "The `reference` of the reversed payment; null if a balance reopened the case.",
      }),
      reversalReference: paymentReversalAnswer.reversalReference.nullable().meta({
        description: "Your id of the reversal; null if a balance reopened the case.",
      }),
      outstandingAsOf: instantAnswer(
        "The `outstandingAsOf` of the balance; null if a reversal reopened the case.",
      ).nullable(),
      importId: importId.optional(),
      cycle: cycle.optional(),
      changes: z
        .array(changeAnswer)
        .optional()
        .meta({ description: "The fields that the balance's row changed. Absent after a reversal." }),
      fieldPartner: fieldPartnerAnswer.nullable().meta({
        description: "The field partner of the case; null if it has none, or if the field partner is suspended.",
      }),
    }),
    {
      reference: paymentReversal.reference,
      reversalReference: paymentReversal.reversalReference,
      outstandingAsOf: null,
      fieldPartner,
    },
  ],
  "payment.collected": ["A payment was confirmed", ofPayment, paymentCollected.data],
};

const envelope = {
  eventId: z.string().meta({
    description: "The id of the event, `evt_…`. Retries and replays have the same id: use it to detect repeats.",
  }),
  version: z.literal(1).meta({
    description: "The version of the format. It rises when a field changes its meaning, but not when a field is added.",
  }),
  env: z.string().meta({ description: "The name of the deployment: sandbox, live or another name." }),
  lenderCode: z.string().meta({ description: "Your lender code." }),
  occurredAt: instantAnswer("When the event happened."),
};

const aboutLoan = {
  sourceLoanNumber: loanAnswer,
  caseId: caseIdAnswer,
  cycle,
  sequence: z.int().min(1).meta({
    description: "The number of the event among the events of its loan: from 1, in steps of 1, without gaps.",
  }),
  status: statusAnswer,
  currency: z.string().meta({ description: "The ISO 4217 code of the currency of all amounts in this object." }),
  totalCollected: amountAnswer(
    "Everything that was captured on the case, minus everything that was reversed. Store this value; do not add up payments.",
  ),
  outstandingAfter: amountAnswer("The amount that is owed now. Store this value; do not compute it."),
};

/** All kinds of events, with the schemas of their bodies (contract: Envelope body fields). */
export const EVENT_KINDS: readonly EventKind[] = [
  pingKind(),
  ...Object.keys(DATA).map((kind) => caseKind(kind as CaseEventKind)),
];

/** The answer of a lender to a mint call (contract: Mint-link response). */
export const mintAnswer = z
  .object({
    success: z.literal(true).meta({ description: "A link was created." }),
    link: z
      .object({
        linkId: z
          .string()
          .min(1)
          .max(128)
          .meta({ description: "Your id of the link. Send it with the confirmation of a payment with the link." }),
        url: z
          .string()
          .max(2_048)
          .meta({
            format: "uri",
            description:
              "The URL where the borrower pays: https, public, in printable ASCII, without a user name. The borrower " +
              "gets its canonical form.",
          }),
      })
      .meta({ description: "The payment link." }),
  })
  .meta({ description: "A payment link. Any other body, or a status other than 2xx, means that there is no link." });

/** The body of a mint call (contract: Mint-link request). */
export const mintRequest = z
  .object({
    sourceLoanNumber: loanAnswer,
    caseId: caseIdAnswer,
    visitId,
    amount: amountAnswer("The amount that the link must request."),
    currency: z.string().meta({ description: "The ISO 4217 code of the currency." }),
    borrowerName: z.string().meta({ description: "The borrower's name." }),
    borrowerPhone: z.string().meta({ description: "The borrower's phone number, in E.164." }),
    description: z.string().meta({ description: "The purpose of the payment, in words." }),
  })
  .meta({ description: "A field partner's request for a payment link." });

export const mintRequestExample = {
  sourceLoanNumber: "LN-2040",
  caseId: CASE_ID,
  visitId: VISIT_ID,
  amount: 1200,
  currency: "INR",
  borrowerName: "Ravi Kumar",
  borrowerPhone: "+919800000001",
  description: "Payment for loan LN-2040",
};

export const mintAnswerExample = {
  success: true,
  link: { linkId: "plink_4c1", url: "https://pay.acme.example/l/4c1" },
};

function caseKind(kind: CaseEventKind): EventKind {
  const [summary, data, exampleData] = DATA[kind];
  const schema = z
    .object({
      ...envelope,
      kind: z.literal(kind).meta({ description: "The kind of the event." }),
      ...aboutLoan,
      data: data.meta({ description: "The data of this kind of event." }),
    })
    .meta({ description: `${summary}.` });
  return {
    kind,
    name: nameOf(kind),
    summary,
    schema,
    example: { ...paymentCollected, kind, data: exampleData },
  };
}

/** Describes the ping, which is about no loan: its fields about a loan are null. */
function pingKind(): EventKind {
  const nothing = Object.keys(aboutLoan).map((field) => [field, z.null().meta({ description: "Always null." })]);
  const summary = "A lender or the operator tests the callback";
  const schema = z
    .object({
      ...envelope,
      kind: z.literal("ping").meta({ description: "The kind of the event." }),
      ...(Object.fromEntries(nothing) as Record<string, z.ZodNull>),
      test: z.literal(true).meta({ description: "Always true." }),
      data: z.object({}).meta({ description: "An empty object." }),
    })
    .meta({ description: `${summary}.` });
  return { kind: "ping", name: nameOf("ping"), summary, schema, example: ping };
}

/** Returns the name of the schema of a kind: PaymentLinkCreatedEvent for `payment_link.created`. */
function nameOf(kind: string): string {
  const words = kind.split(/[._]/).map((word) => `${word[0]!.toUpperCase()}${word.slice(1)}`);
  return `${words.join("")}Event`;
}
