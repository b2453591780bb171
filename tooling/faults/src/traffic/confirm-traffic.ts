import type { Answer, LenderClient } from "@collections/lender-twin";
import { setTimeout as pause } from "node:timers/promises";
import type { Model, Payment } from "./model.ts";
import { oneOf } from "./seeded-random.ts";
import type { Pace, Scene } from "./pace.ts";
import { UnansweredError } from "./traffic-end.ts";

const LARGEST_MINOR = 50_000;
const BY_LINK = 0.2;
/**
 * The share of payments that the lender does not repeat after their answer was lost. Such a payment must be booked
 * completely or not at all.
 */
const GIVEN_UP = 0.1;
const RETRY_AFTER_MS = 100;

let clients = 0;

/**
 * Simulates one of the lender's servers: confirms payments one after the other, and repeats each confirmation until it
 * is answered. Throws UnansweredError if a payment has no answer at the end.
 */
export async function confirmPayments(stage: Scene, pace: Pace): Promise<void> {
  const { random, isOver, rest } = pace;
  clients += 1;
  const prefix = `pay_${clients}_`;
  const client = stage.client();
  try {
    for (let number = 1; !isOver(); number += 1) {
      const payment = aPayment(stage, `${prefix}${number}`, random);
      stage.model.add(payment);
      await confirmUntilAnswered(stage, client, payment, pace);
      await rest();
    }
  } finally {
    client.disconnect();
  }
}

function aPayment({ loans, lender }: Scene, reference: string, random: () => number): Payment {
  const links = [...lender.links.values()];
  const link = links.length > 0 && random() < BY_LINK ? oneOf(random, links) : undefined;
  const loan = link?.sourceLoanNumber ?? oneOf(random, loans);
  const amountMinor = 1 + Math.floor(random() * LARGEST_MINOR);
  const body = JSON.stringify({
    amount: amountMinor / 100,
    amountIsMajorUnits: true,
    reference,
    paidAt: new Date().toISOString(),
    mode: "upi",
    ...(link && { linkId: link.linkId }),
  });
  return { loan, reference, amountMinor, body, isDoubtful: false, acknowledged: undefined };
}

/** After a lost answer the lender sends the same bytes again, to any of the servers. */
async function confirmUntilAnswered(
  { servers, model, mayRefuse }: Scene,
  client: LenderClient,
  payment: Payment,
  { random, isTooLate, onAnswer }: Pace,
): Promise<void> {
  for (;;) {
    client.connect({ serviceUrl: oneOf(random, servers.urls) });
    const startedAt = performance.now();
    const answer = await client.confirm(payment.loan, payment.body).catch(() => undefined);
    if (answer !== undefined && (answer.status === 200 || answer.status === 409)) {
      onAnswer?.(performance.now() - startedAt);
      book(model, payment, answer);
      return;
    }
    if (answer !== undefined && !mayRefuse(answer)) {
      // The outcome is unknown: the checks treat the payment as never acknowledged.
      model.odd(describeAnswer(answer));
      return;
    }
    if (answer?.status === 503) model.counts.refused += 1;
    // Treat only a lost answer and a 5xx as doubtful. Any other rejected payment was not booked, but a 503 may follow a
    // commit whose result the server did not receive.
    const isNewlyDoubtful = !payment.isDoubtful && (answer === undefined || answer.status >= 500);
    if (isNewlyDoubtful) payment.isDoubtful = true;
    if (isNewlyDoubtful && random() < GIVEN_UP) return;
    if (isTooLate()) throw new UnansweredError(`the payment ${payment.reference}`);
    await pause(RETRY_AFTER_MS + random() * RETRY_AFTER_MS);
  }
}

function book(model: Model, payment: Payment, answer: Answer): void {
  if (answer.status === 200) return model.acknowledge(payment, Number(answer.body["sequence"]));
  const { code, matches, original } = answer.body as {
    code: string;
    matches?: boolean;
    original?: { sequence: number };
  };
  if (code !== "DUPLICATE_CONFIRMATION" || !payment.isDoubtful || matches !== true || original === undefined) {
    return model.odd(describeAnswer(answer));
  }
  model.counts.lostAnswers += 1;
  model.acknowledge(payment, original.sequence);
}

function describeAnswer({ status, rawBody }: Answer): string {
  return `a confirmation was answered ${status}: ${rawBody.slice(0, 300)}`;
}

/**
 * Returns whether the answer says that the service is temporarily unavailable: a 503 with Retry-After. By default no
 * other failure is allowed during a fault.
 */
export function isUnavailable({ status, headers }: Answer): boolean {
  return status === 503 && headers["retry-after"] !== undefined;
}
