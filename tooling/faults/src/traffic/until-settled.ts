import type { Answer, LenderClient } from "@collections/lender-twin";
import { setTimeout as pause } from "node:timers/promises";
import { oneOf } from "./seeded-random.ts";
import type { Pace, Scene } from "./pace.ts";
import { UnansweredError } from "./traffic-end.ts";

/**
 * The share of requests that the lender does not repeat after their answer was lost. The effects of such a request must
 * be stored completely or not at all.
 */
const GIVEN_UP = 0.1;
const RETRY_AFTER_MS = 100;

/** A request that the lender repeats until its outcome is known. */
export interface RepeatedRequest {
  /** Names the request in messages: "the payment pay_1". */
  readonly name: string;
  /** The fact that the request is about. Its `isDoubtful` is set if an attempt may have succeeded without our knowledge. */
  readonly fact: { isDoubtful: boolean };
  send(client: LenderClient): Promise<Answer>;
  /** Whether the answer settles the request: it is not sent again. */
  isFinal(answer: Answer): boolean;
}

/**
 * Sends a request until an answer settles it, to any of the servers, and returns that answer. Returns undefined if the
 * outcome stays unknown: the lender has given up, or the answer is not allowed, which is reported as odd. Throws
 * UnansweredError if there is no answer at the end.
 */
export async function untilSettled(
  { servers, model, mayRefuse }: Pick<Scene, "servers" | "model" | "mayRefuse">,
  client: LenderClient,
  { name, fact, send, isFinal }: RepeatedRequest,
  { random, isTooLate }: Pick<Pace, "random" | "isTooLate">,
): Promise<Answer | undefined> {
  for (;;) {
    client.connect({ serviceUrl: oneOf(random, servers.urls) });
    const answer = await send(client).catch(() => undefined);
    if (answer !== undefined && isFinal(answer)) return answer;
    if (answer !== undefined && !mayRefuse(answer)) {
      model.odd(describeAnswer(name, answer));
      return undefined;
    }
    if (answer?.status === 503) model.counts.refused += 1;
    // The request may have succeeded if the answer was lost or is a 5xx: a 503 may follow a commit whose result the
    // server did not receive. After any other rejection the request has changed nothing.
    const isNewlyDoubtful = !fact.isDoubtful && (answer === undefined || answer.status >= 500);
    if (isNewlyDoubtful) fact.isDoubtful = true;
    if (isNewlyDoubtful && random() < GIVEN_UP) return undefined;
    if (isTooLate()) throw new UnansweredError(name);
    await pause(RETRY_AFTER_MS + random() * RETRY_AFTER_MS);
  }
}

/** Describes an answer that the contract does not allow. */
export function describeAnswer(name: string, { status, rawBody }: Answer): string {
  return `${name} was answered ${status}: ${rawBody.slice(0, 300)}`;
}
