import type { Answer, LenderClient } from "@collections/lender-twin";
import { setTimeout as pause } from "node:timers/promises";
import type { Model, Payment } from "./model.ts";
import { oneOf } from "./seeded-random.ts";
import type { Pace, Scene } from "./pace.ts";
import { UnansweredError } from "./traffic-end.ts";

const LARGEST_MINOR = 50_000;
const BY_LINK = 0.2;
/** So many of those whose answer was lost are never sent again: they must be booked whole, or not at all. */
const GIVEN_UP = 0.1;
const RETRY_AFTER_MS = 100;

let clients = 0;

/**
 * One of the lender's servers: confirms payments one after the other, each until it is answered. Throws UnansweredError
 * when one is not at the end.
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

/** What a lender does whose answer is lost: the same bytes again, at another server where there is one. */
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
      // Nothing is known of it any more: the checks treat it as one that was never acknowledged.
      model.odd(refusal(answer));
      return;
    }
    if (answer?.status === 503) model.counts.refused += 1;
    // What is refused was not booked; a 503 may come after a commit whose end nobody has heard of.
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
    return model.odd(refusal(answer));
  }
  model.counts.lostAnswers += 1;
  model.acknowledge(payment, original.sequence);
}

function refusal({ status, rawBody }: Answer): string {
  return `a confirmation was answered ${status}: ${rawBody.slice(0, 300)}`;
}

/** While something is broken, "not now" is the one answer, and it says when to come again. */
export function isNotNow({ status, headers }: Answer): boolean {
  return status === 503 && headers["retry-after"] !== undefined;
}
