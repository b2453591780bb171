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
import { CASE_ID, fieldPartner, paymentCollected, ping, VISIT_ID } from "../v1/examples.ts";
import { dispositionAnswer, fieldPartnerAnswer } from "../v1/get-case.ts";
import { changeAnswer } from "../v1/import-answer.ts";
import { importResultExample } from "../v1/import-examples.ts";

/** A kind of event in the document. */
export interface EventKind {
  readonly kind: string;
  /** The name of its schema. */
  readonly name: string;
  readonly summary: string;
  readonly schema: z.ZodType;
  readonly example: object;
}

const visitId = z.string().meta({ description: "`vis_…`" });
const linkId = z.string().meta({ description: "The linkId that your mint endpoint answered." });
const linkAmount = amountAnswer("What the link asks for.");
const channels = z
  .array(z.enum(CHANNELS))
  .meta({ description: "Which channels: one that took the message, or all that did not." });
const occurredAt = instantAnswer("When it was, by the phone of the field partner.");
const importId = z.string().meta({ description: "`imp_…`" });
const cycle = countAnswer("How often the loan was placed: 1 for its first case.");
const ofHolder = z.object({ fieldPartner: fieldPartnerAnswer.nullable() });
const reason = z.object({ reason: z.string().nullable().meta({ description: "Why, in words." }) });
const promise = z
  .object({
    amount: amountAnswer("How much was promised."),
    currency: z.string().meta({ description: "ISO 4217." }),
    date: z.iso.date().meta({ description: "By the end of which day, by the clocks of your time zone." }),
  })
  .meta({ description: "What the borrower promised to pay." });
const ofPromise = z.object({
  visitId,
  promise,
  paidAmount: amountAnswer("What the case was paid from the promise to the end of its day."),
});
const ofPayment = z.object({
  ...capturedPaymentAnswer,
  visitId: visitId.nullable(),
  attribution: attributionAnswer,
  excessAmount: amountAnswer("The part of this payment that was not owed."),
  inBalance: amountAnswer("The part of this payment that your balance included already; else 0."),
});

const promiseExample = { amount: 1800, currency: "INR", date: "2026-12-07" };

/** For each kind: when it is sent, the schema of its data (contract: Event kinds), and an example of its data. */
const DATA: Readonly<Record<CaseEventKind, readonly [sentWhen: string, data: z.ZodType, example: object]>> = {
  "case.created": [
    "A row made a case",
    z.object({ importId, cycle }),
    { importId: importResultExample.importId, cycle: 1 },
  ],
  "case.updated": [
    "A row changed a case",
    z.object({
      importId,
      cycle,
      changes: z.array(changeAnswer).meta({ description: "What changed; of personal data the field's name only." }),
    }),
    {
      importId: importResultExample.importId,
      cycle: 1,
      changes: [{ field: "outstandingAmount", from: 3200, to: 3000 }, { field: "borrowerPhone" }],
    },
  ],
  "case.assigned": ["A field partner got the case", ofHolder, { fieldPartner }],
  "case.unassigned": ["A field partner lost the case", ofHolder, { fieldPartner }],
  "case.held": ["Contact was stopped", reason, { reason: "Dispute" }],
  "case.released": ["Contact is allowed again", reason, { reason: null }],
  "case.withdrawn": ["You took the case back", reason, { reason: "Sold to another lender" }],
  "case.returned": ["The case ended without full payment", reason, { reason: "settled_by_lender" }],
  "case.closed": [
    "A confirmation cleared the case, or a balance was imported that later payments cover",
    z.object({
      closeReason: z.enum(CLOSE_REASONS).extract(["paid_in_full"]).meta({ description: "Nothing is owed any more." }),
      reference: capturedPaymentAnswer.reference.meta({ description: "The payment that cleared the case." }),
      inBalance: amountAnswer(
        "Only where your balance included that payment already: the part of it that was owed.",
      ).optional(),
    }),
    { closeReason: "paid_in_full", reference: "txn_90315" },
  ],
  "visit.started": [
    "A field partner is at the door",
    z.object({ visitId, occurredAt }),
    { visitId: VISIT_ID, occurredAt: "2026-12-03T05:16:20.000Z" },
  ],
  "visit.completed": [
    "A field partner was at the door",
    z.object({
      visitId,
      disposition: dispositionAnswer,
      occurredAt,
      promise: promise.nullable().meta({ description: "What the borrower promised; null without a promise." }),
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
    "A promise was kept by the end of its day",
    ofPromise,
    { visitId: VISIT_ID, promise: promiseExample, paidAmount: 1800 },
  ],
  "promise.broken": [
    "A promise was not kept by the end of its day",
    ofPromise,
    { visitId: VISIT_ID, promise: promiseExample, paidAmount: 500 },
  ],
  "payment_link.created": [
    "A link was minted",
    z.object({ visitId, linkId, amount: linkAmount }),
    { visitId: VISIT_ID, linkId: "plink_4c1", amount: 1200 },
  ],
  "payment_link.unavailable": [
    "There is no link",
    z.object({
      visitId,
      amount: linkAmount,
      reason: z.enum(UNAVAILABLE_REASONS).meta({ description: "Why there is none." }),
    }),
    { visitId: VISIT_ID, amount: 1200, reason: "timeout" },
  ],
  "payment_link.delivered": [
    "The first channel took the message to the borrower",
    z.object({ linkId, channels }),
    { linkId: "plink_4c1", channels: ["whatsapp"] },
  ],
  "payment_link.undelivered": [
    "No channel could take the message to the borrower",
    z.object({ linkId, channels }),
    { linkId: "plink_4c1", channels: ["whatsapp", "email"] },
  ],
  "payment.collected": ["A payment was confirmed", ofPayment, paymentCollected.data],
};

const envelope = {
  eventId: z.string().meta({ description: "`evt_…`: the same over retries and replays; dedupe on it." }),
  version: z.literal(1).meta({ description: "Raised when a field changes its meaning, not when one is added." }),
  env: z.string().meta({ description: "The deployment's name: sandbox, live or another." }),
  lenderCode: z.string().meta({ description: "Your code." }),
  occurredAt: instantAnswer("When it happened."),
};

const aboutLoan = {
  sourceLoanNumber: loanAnswer,
  caseId: caseIdAnswer,
  cycle,
  sequence: z
    .int()
    .min(1)
    .meta({ description: "The event's place in its loan's sequence: from 1, by ones, without a gap." }),
  status: statusAnswer,
  currency: z.string().meta({ description: "ISO 4217; of every amount here." }),
  totalCollected: amountAnswer("Everything ever captured on the case: store it, do not add it up."),
  outstandingAfter: amountAnswer("What is owed now: store it, do not compute it."),
};

/** All kinds of events, with the schemas of their bodies (contract: Envelope body fields). */
export const EVENT_KINDS: readonly EventKind[] = [
  pingKind(),
  ...Object.keys(DATA).map((kind) => caseKind(kind as CaseEventKind)),
];

/** contract: Mint-link response */
export const mintAnswer = z
  .object({
    success: z.literal(true).meta({ description: "There is a link." }),
    link: z
      .object({
        linkId: z.string().min(1).max(128).meta({ description: "Your id of the link; send it with the confirmation." }),
        url: z.string().max(2_048).meta({
          format: "uri",
          description:
            "Where the borrower pays: https and public, in printable ASCII, without a user name. The borrower gets the canonical form.",
        }),
      })
      .meta({ description: "The link." }),
  })
  .meta({ description: "A payment link. Anything else, or another status than 2xx, means that there is none." });

/** contract: Mint-link request */
export const mintRequest = z
  .object({
    sourceLoanNumber: loanAnswer,
    caseId: caseIdAnswer,
    visitId,
    amount: amountAnswer("What the link has to ask for."),
    currency: z.string().meta({ description: "ISO 4217." }),
    borrowerName: z.string().meta({ description: "Who pays." }),
    borrowerPhone: z.string().meta({ description: "E.164." }),
    description: z.string().meta({ description: "What the payment is for, in words." }),
  })
  .meta({ description: "A link that a field partner asks for at a door." });

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
      kind: z.literal(kind).meta({ description: "What happened." }),
      ...aboutLoan,
      data: data.meta({ description: "What this kind says." }),
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

/** The ping, which is about no loan: its fields about a loan are null. */
function pingKind(): EventKind {
  const nothing = Object.keys(aboutLoan).map((field) => [field, z.null().meta({ description: "Null." })]);
  const summary = "Somebody tries the callback";
  const schema = z
    .object({
      ...envelope,
      kind: z.literal("ping").meta({ description: "What happened." }),
      ...(Object.fromEntries(nothing) as Record<string, z.ZodNull>),
      test: z.literal(true).meta({ description: "True." }),
      data: z.object({}).meta({ description: "Nothing." }),
    })
    .meta({ description: `${summary}.` });
  return { kind: "ping", name: nameOf("ping"), summary, schema, example: ping };
}

/** The name of the schema of a kind: PaymentLinkCreatedEvent for `payment_link.created`. */
function nameOf(kind: string): string {
  const words = kind.split(/[._]/).map((word) => `${word[0]!.toUpperCase()}${word.slice(1)}`);
  return `${words.join("")}Event`;
}
