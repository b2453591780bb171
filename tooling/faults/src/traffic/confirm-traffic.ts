import type { Answer, LenderClient } from "@collections/lender-twin";
import type { Model, Payment } from "./model.ts";
import type { Pace, Scene } from "./pace.ts";
import { reverseOne } from "./reverse-traffic.ts";
import { oneOf } from "./seeded-random.ts";
import { describeAnswer, untilSettled } from "./until-settled.ts";

const LARGEST_MINOR = 50_000;
const BY_LINK = 0.2;
/** The share of payments on small loans. Most of these payments clear the case. */
const ON_SMALL_LOAN = 0.1;
/** The share of payments after which the client reverses one of its latest payments. */
const REVERSED = 0.1;
/** On a small loan a reversal mostly reopens the case. */
const REVERSED_ON_SMALL_LOAN = 0.5;
/** The number of a client's latest payments that it may still reverse. */
const LATEST = 20;

let clients = 0;

/**
 * Simulates one of the lender's servers: confirms payments one after the other and reverses some of them, and repeats
 * each request until it is answered. Throws UnansweredError if a request has no answer at the end.
 */
export async function confirmPayments(stage: Scene, pace: Pace): Promise<void> {
  const { random, isOver, rest } = pace;
  clients += 1;
  const prefix = `pay_${clients}_`;
  const client = stage.client();
  const latest: Payment[] = [];
  try {
    for (let number = 1; !isOver(); number += 1) {
      const payment = aPayment(stage, `${prefix}${number}`, random);
      stage.model.add(payment);
      await confirmUntilAnswered(stage, client, payment, pace);
      const isSmall = stage.smallLoans.includes(payment.loan);
      if (payment.acknowledged) latest.push(payment);
      if (latest.length > LATEST) latest.shift();
      if (latest.length > 0 && random() < (isSmall ? REVERSED_ON_SMALL_LOAN : REVERSED)) {
        await reverseOne(stage, client, isSmall ? latest.at(-1)! : oneOf(random, latest), pace);
      }
      await rest();
    }
  } finally {
    client.disconnect();
  }
}

function aPayment({ loans, smallLoans, lender }: Scene, reference: string, random: () => number): Payment {
  const links = [...lender.links.values()];
  const link = links.length > 0 && random() < BY_LINK ? oneOf(random, links) : undefined;
  const someLoans = smallLoans.length > 0 && random() < ON_SMALL_LOAN ? smallLoans : loans;
  const loan = link?.sourceLoanNumber ?? oneOf(random, someLoans);
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

async function confirmUntilAnswered(stage: Scene, client: LenderClient, payment: Payment, pace: Pace): Promise<void> {
  let startedAt = 0;
  const request = {
    name: `the payment ${payment.reference}`,
    fact: payment,
    send(one: LenderClient) {
      startedAt = performance.now();
      return one.confirm(payment.loan, payment.body);
    },
    isFinal: ({ status }: Answer) => status === 200 || status === 409,
  };
  const answer = await untilSettled(stage, client, request, pace);
  // Without an answer, the checks treat the payment as never acknowledged.
  if (answer === undefined) return;
  pace.onAnswer?.(performance.now() - startedAt);
  book(stage.model, payment, answer);
}

function book(model: Model, payment: Payment, answer: Answer): void {
  if (answer.status === 200) return model.acknowledge(payment, Number(answer.body["sequence"]));
  const { code, matches, original } = answer.body as {
    code: string;
    matches?: boolean;
    original?: { sequence: number };
  };
  if (code !== "DUPLICATE_CONFIRMATION" || !payment.isDoubtful || matches !== true || original === undefined) {
    return model.odd(describeAnswer(`the payment ${payment.reference}`, answer));
  }
  model.counts.lostAnswers += 1;
  model.acknowledge(payment, original.sequence);
}

/**
 * Returns whether the answer says that the service is temporarily unavailable: a 503 with Retry-After. By default no
 * other failure is allowed during a fault.
 */
export function isUnavailable({ status, headers }: Answer): boolean {
  return status === 503 && headers["retry-after"] !== undefined;
}
