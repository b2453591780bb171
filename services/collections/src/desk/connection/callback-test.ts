import { transaction } from "@collections/database";
import type { EntityManager } from "@collections/entities";
import { onOneLine } from "@collections/flows";
import { type Lender, recordAct } from "@collections/lenders";
import {
  CallbackNotConfiguredError,
  endpointOf,
  type EndpointStatus,
  PingAbandonedError,
  type Remedy,
  type TestedDelivery,
} from "@collections/webhooks";
import type { DeskOutcome } from "../acts.ts";
import { counted } from "../counted.ts";
import { type Failure, wordsFor } from "../failure-words.ts";
import { type ConnectionActing, lenderIn, requestLines, requestText, type TestedCall, whyTooOften } from "./acting.ts";
import { answerLines } from "./answer-lines.ts";

/** A ping that was sent to a callback, and the callback's state after it. */
export interface ProbedCallback {
  readonly tested: TestedDelivery;
  /** Undefined for a ping that was acknowledged. */
  readonly words: Remedy | undefined;
  readonly status: EndpointStatus;
  /** Whether the ping has ended a suspension. */
  readonly recovered: boolean;
}

/**
 * Sends a ping to the callback of a lender, and records it in the audit. Returns undefined if the lender has no endpoint.
 *
 * @throws CallbackNotConfiguredError, PingAbandonedError
 */
export async function probeCallback(
  { em, ping }: { readonly em: () => EntityManager } & Pick<ConnectionActing, "ping">,
  lender: Lender,
  reason: string | undefined,
): Promise<ProbedCallback | undefined> {
  const before = await endpointOf(em(), lender.id);
  if (!before) return undefined;
  const { url, state, waiting } = before;
  const audit = (act: string, data: object) =>
    transaction(em(), async (tx) => recordAct(tx, { lenderId: lender.id, act, reason, data: { url, ...data } }));
  // The ping and its effects have transactions of their own, so the audit has an entry before them and one after them.
  await audit("endpoint.probe_started", { state, waiting });
  const tested = await ping(lender);
  const status = (await endpointOf(em(), lender.id))!;
  const failure = failureOf(tested);
  const recovered = state === "suspended" && status.state === "active";
  await audit("endpoint.probed", { delivered: tested.delivered, status: tested.response?.status, recovered });
  return { tested, words: failure && wordsFor(failure, tested.request.url), status, recovered };
}

/** Returns a ping as lines of text: its request, and its answer. */
export function pingLines({ request, response, error }: TestedDelivery) {
  return {
    request: requestLines(request),
    answer: response
      ? answerLines(response.status, response.headers, response.body)
      : [`  ${onOneLine(error?.detail ?? "")}`],
  };
}

/** Returns what a ping that ended a suspension has caused. */
export function recoveredText({ waiting }: EndpointStatus): string {
  return `The suspension is over: ${counted(waiting, "event")} are sent in order.`;
}

/** Sends a ping to the callback of a lender, for a page. */
export async function testCallbackFromDesk(
  acting: ConnectionActing,
  { lenderCode }: { readonly lenderCode: string },
): Promise<Exclude<DeskOutcome, { kind: "done" }> | { readonly kind: "tested"; readonly call: TestedCall }> {
  const lender = await lenderIn(acting, lenderCode);
  if (!lender) return { kind: "not_found" };
  const tooOften = await whyTooOften(acting, lender, "webhooks-test");
  if (tooOften !== undefined) return { kind: "refused", detail: tooOften };
  try {
    const probed = await probeCallback(acting, lender, undefined);
    return probed ? { kind: "tested", call: callOf(probed) } : { kind: "refused", detail: NO_CALLBACK };
  } catch (error) {
    if (error instanceof CallbackNotConfiguredError) return { kind: "refused", detail: NO_CALLBACK };
    if (error instanceof PingAbandonedError) return { kind: "refused", detail: error.message };
    throw error;
  }
}

const NO_CALLBACK = "No callback URL is registered. Change the settings first.";

function callOf({ tested, words, status, recovered }: ProbedCallback): TestedCall {
  const { request, answer } = pingLines(tested);
  const took = `${Math.round(tested.durationMs)} ms`;
  const sentence = tested.delivered
    ? `The callback has acknowledged the ping after ${took}.`
    : `The callback has not acknowledged the ping after ${took}.`;
  return {
    isAnswered: tested.delivered,
    headline: recovered ? `${sentence} ${recoveredText(status)}` : sentence,
    request: requestText(request),
    answer: answer.map((line) => line.trimStart()).join("\n"),
    failure: words ?? null,
  };
}

function failureOf({ error, response }: TestedDelivery): Failure | undefined {
  if (error === null) return undefined;
  const { status = null, headers = null } = response ?? {};
  return { status, headers, errorCode: error.code, errorReason: error.reason, errorDetail: error.detail };
}
