import type { PaymentLink } from "./answers.ts";
import { eventsIn } from "./event-stream.ts";
import { dataOf, NoAnswerError, post, RefusedRequestError } from "./graphql.ts";
import { ONE_LINK, WATCH_LINK } from "./operations.ts";
import { accessToken, ask, isUnauthenticated, renewed, SignedOutError, signedInId } from "./session.ts";

/** The final statuses of a link. A link with any other status may still become `PAID`. */
export const FINAL: ReadonlySet<PaymentLink["status"]> = new Set(["PAID", "UNAVAILABLE", "SUPERSEDED"]);

export interface LinkWatch {
  onLink: (link: PaymentLink | null) => void;
  /** Called with true if changes arrive as a stream, and with false if the link is polled every few seconds. */
  onLive: (isLive: boolean) => void;
  /** Called with an error that a retry cannot fix. */
  onFault: (error: unknown) => void;
}

const AGAIN_MS = [1_000, 2_000, 4_000];
/** The service sends something every few seconds, so a stream that is silent for this long is dead. */
const SILENT_MS = 30_000;

/**
 * Follows a link until its status is final. Reads changes from a stream, and polls the link while there is no stream.
 */
export async function watchLink(id: string, watch: LinkWatch, signal: AbortSignal): Promise<void> {
  for (let failures = 0; !signal.aborted; failures += 1) {
    try {
      if (await streamed(id, watch, signal)) return;
      failures = 0;
    } catch (error) {
      if (signal.aborted || error instanceof SignedOutError) return;
      if (isForGood(error)) return watch.onFault(error);
    }
    watch.onLive(false);
    await pause(AGAIN_MS[Math.min(failures, AGAIN_MS.length - 1)] as number, signal);
    if (await askedOnce(id, watch, signal)) return;
  }
}

/** Returns true when the link's status is final, and false if the stream ends before that. */
async function streamed(id: string, watch: LinkWatch, signal: AbortSignal): Promise<boolean> {
  const silence = new AbortController();
  let timer: number | undefined;
  const restartTimer = () => {
    clearTimeout(timer);
    timer = setTimeout(() => silence.abort(), SILENT_MS);
  };
  try {
    restartTimer();
    const who = signedInId();
    const token = await accessToken(who);
    const both = AbortSignal.any([signal, silence.signal]);
    const response = await post(WATCH_LINK, { id }, "text/event-stream", both, token);
    if (!response.body) throw new NoAnswerError();
    for await (const { event, data } of eventsIn(chunksOf(response.body, restartTimer))) {
      if (event === "complete") return false;
      if (event !== "next") continue;
      const { paymentLinkUpdated: link } = await linkIn(data, who, token);
      watch.onLive(true);
      watch.onLink(link);
      if (FINAL.has(link.status)) return true;
    }
    return false;
  } finally {
    clearTimeout(timer);
    silence.abort();
  }
}

async function linkIn(data: string, who: string, token: string): Promise<{ paymentLinkUpdated: PaymentLink }> {
  try {
    return dataOf(JSON.parse(data) as { data?: { paymentLinkUpdated: PaymentLink } });
  } catch (error) {
    // Renews the token, so that the next stream is opened with a new token.
    if (isUnauthenticated(error)) await renewed(who, token);
    throw error;
  }
}

async function askedOnce(id: string, watch: LinkWatch, signal: AbortSignal): Promise<boolean> {
  if (signal.aborted) return true;
  try {
    const { paymentLink } = await ask(ONE_LINK, { id });
    if (signal.aborted) return true;
    watch.onLink(paymentLink);
    return paymentLink === null || FINAL.has(paymentLink.status);
  } catch (error) {
    return error instanceof SignedOutError;
  }
}

function isForGood(error: unknown): boolean {
  return error instanceof RefusedRequestError && !isUnauthenticated(error);
}

async function* chunksOf(body: ReadableStream<Uint8Array>, restartTimer: () => void): AsyncGenerator<string> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  try {
    for (let { done, value } = await reader.read(); !done; { done, value } = await reader.read()) {
      restartTimer();
      yield decoder.decode(value, { stream: true });
    }
  } finally {
    reader.cancel().catch(() => undefined);
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
