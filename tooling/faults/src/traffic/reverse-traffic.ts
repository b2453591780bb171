import type { Answer, LenderClient } from "@collections/lender-twin";
import type { Model, Payment, Reversal } from "./model.ts";
import type { Pace, Scene } from "./pace.ts";
import { describeAnswer, untilSettled } from "./until-settled.ts";

/** The share of payments that are reversed in whole. Of the others, a part is reversed. */
const WHOLE = 0.4;
/** How often two reversals of one payment are sent at the same time. Together they may exceed the payment. */
const TWICE_AT_ONCE = 0.3;
const EXCEEDS = "REVERSAL_EXCEEDS_PAYMENT";

/**
 * Reverses an acknowledged payment, or a part of it, and repeats the request until it is answered. Sometimes sends a
 * second reversal of the payment at the same time. Throws UnansweredError if a request has no answer at the end.
 */
export async function reverseOne(stage: Scene, client: LenderClient, payment: Payment, pace: Pace): Promise<void> {
  const { model } = stage;
  const reversals = Array.from({ length: pace.random() < TWICE_AT_ONCE ? 2 : 1 }, () => {
    const reversal = aReversal(payment, `rev_${model.reversals.size + 1}_${payment.reference}`, pace.random);
    model.reversals.set(reversal.reversalReference, reversal);
    return reversal;
  });
  await Promise.all(reversals.map((reversal) => reverseUntilAnswered(stage, client, reversal, pace)));
}

function aReversal(
  { loan, reference, amountMinor }: Payment,
  reversalReference: string,
  random: () => number,
): Reversal {
  const partMinor = random() < WHOLE ? undefined : 1 + Math.floor(random() * amountMinor);
  const body = JSON.stringify({
    reference,
    reversalReference,
    reversedAt: new Date().toISOString(),
    reason: "bank_reversed",
    ...(partMinor !== undefined && { amount: partMinor / 100 }),
  });
  const unanswered = { isDoubtful: false, isRefused: false, acknowledged: undefined };
  return { loan, reference, reversalReference, amountMinor: partMinor, body, ...unanswered };
}

async function reverseUntilAnswered(stage: Scene, client: LenderClient, reversal: Reversal, pace: Pace): Promise<void> {
  const request = {
    name: nameOf(reversal),
    fact: reversal,
    send: (one: LenderClient) => one.reverse(reversal.loan, reversal.body),
    isFinal: ({ status, body }: Answer) => status === 200 || status === 409 || body["code"] === EXCEEDS,
  };
  const answer = await untilSettled(stage, client, request, pace);
  if (answer !== undefined) record(stage.model, reversal, answer);
}

function record(model: Model, reversal: Reversal, answer: Answer): void {
  const { code, matches, original } = answer.body as { code?: string; matches?: boolean; original?: RecordedReversal };
  if (answer.status === 200) {
    acknowledge(model, reversal, answer.body as unknown as RecordedReversal);
  } else if (code === "DUPLICATE_REVERSAL" && reversal.isDoubtful && matches === true && original !== undefined) {
    model.counts.lostAnswers += 1;
    acknowledge(model, reversal, original);
  } else if (code === EXCEEDS && isOneOfSeveral(model, reversal)) {
    reversal.isRefused = true;
  } else {
    model.odd(describeAnswer(nameOf(reversal), answer));
  }
}

interface RecordedReversal {
  readonly sequence: number;
  readonly amount: number;
}

function acknowledge({ counts }: Model, reversal: Reversal, { sequence, amount }: RecordedReversal): void {
  reversal.acknowledged = { sequence, amountMinor: Math.round(amount * 100) };
  counts.reversed += 1;
}

/** Whether other reversals of the same payment were sent, so that this one may exceed what they have left. */
function isOneOfSeveral({ reversals }: Model, { reference }: Reversal): boolean {
  return [...reversals.values()].filter((one) => one.reference === reference).length > 1;
}

function nameOf({ reversalReference }: Reversal): string {
  return `the reversal ${reversalReference}`;
}
