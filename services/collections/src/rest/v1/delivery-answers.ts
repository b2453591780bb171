import type { AttemptErrorCode, ReplayState } from "@collections/webhooks";
import { z } from "zod";
import { countAnswer, instantAnswer, keysOf, loanAnswer, successAnswer, warningsAnswer } from "../answer-parts.ts";

const ATTEMPT_ERRORS = {
  TIMEOUT: true,
  DNS: true,
  CONNECT: true,
  TLS: true,
  NON_2XX: true,
  REDIRECT: true,
  BLOCKED_ADDRESS: true,
} satisfies Record<AttemptErrorCode, true>;

const headersAnswer = z.record(z.string(), z.string());
const eventId = z.string().meta({ description: "`evt_…`, the `eventId` of the event." });

export const attemptErrorAnswer = z
  .object({
    code: z.enum(keysOf(ATTEMPT_ERRORS)).meta({ description: "What failed." }),
    detail: z.string().nullable().meta({ description: "What was observed." }),
    cause: z.string().meta({ description: "What that means." }),
    remedy: z.string().meta({ description: "What to do about it." }),
  })
  .meta({ description: "Why an attempt failed, and what to do about it." });

/** The 200 of a webhook test (contract: POST webhooks/test). */
export const webhookTestAnswer = z
  .object({
    success: successAnswer,
    delivered: z.boolean().meta({ description: "Your callback answered 2xx in time." }),
    deliveryId: z.string().meta({ description: "`evt_…`, the `eventId` of the ping." }),
    durationMs: countAnswer("How long the exchange took."),
    request: z
      .object({
        url: z.string().meta({ description: "The registered callback URL." }),
        headers: headersAnswer.meta({ description: "The headers that were sent." }),
        body: z.string().meta({ description: "The exact body that was sent." }),
      })
      .meta({ description: "What was sent." }),
    response: z
      .object({
        status: z.int().meta({ description: "The status that your callback answered." }),
        headers: headersAnswer.meta({ description: "Its headers, names in lower case." }),
        body: z.string().meta({ description: "The first 2 KB of its body." }),
      })
      .nullable()
      .meta({ description: "What came back; null when nothing came." }),
    error: attemptErrorAnswer.nullable(),
    endpoint: z
      .object({
        suspended: z.boolean().meta({ description: "Events wait until the callback answers again." }),
        consecutiveFailures: countAnswer("Failed attempts in a row."),
        nextProbeAt: instantAnswer("When a suspended callback is tried next.").nullable(),
        waiting: countAnswer("Events that wait to be delivered."),
        parked: countAnswer("Events that were given up on."),
      })
      .meta({ description: "How your callback stands." }),
    warnings: warningsAnswer,
  })
  .meta({ description: "What came of a ping to your callback." });

/** One event on its way, as a list shows it (contract: Deliveries and replays). */
export const deliveryAnswer = z
  .object({
    eventId,
    kind: z.string().meta({ description: "The kind of the event." }),
    sourceLoanNumber: loanAnswer,
    sequence: countAnswer("The event's number in its loan's sequence."),
    state: z
      .enum(["waiting", "in_flight", "delivered", "parked"])
      .meta({ description: "`waiting` means due, or between two attempts." }),
    attempts: countAnswer("Attempts that were made."),
    nextAttemptAt: instantAnswer("When it is tried again; null when no time is set.").nullable(),
    lastError: z.string().nullable().meta({ description: "Why the latest attempt failed." }),
    createdAt: instantAnswer("When the event was made."),
  })
  .meta({ description: "An event and how its delivery stands." });

export const deliveriesAnswer = z
  .object({
    success: successAnswer,
    deliveries: z.array(deliveryAnswer).meta({ description: "A page of events, the newest first." }),
    nextCursor: z.string().nullable().meta({ description: "The `cursor` of the next page; null on the last one." }),
    warnings: warningsAnswer,
  })
  .meta({ description: "A page of your events." });

export const attemptAnswer = z
  .object({
    number: countAnswer("Which attempt it was, from 1."),
    replay: z.boolean().meta({ description: "It was sent as a replay." }),
    startedAt: instantAnswer("When it began."),
    durationMs: z.number().min(0).meta({ description: "How long it took." }),
    outcome: z.enum(["delivered", "failed"]).meta({ description: "How it ended." }),
    status: z.int().nullable().meta({ description: "The status that your callback answered." }),
    headers: headersAnswer.nullable().meta({ description: "Its headers, names in lower case." }),
    body: z.string().nullable().meta({ description: "The first 2 KB of its body." }),
    error: attemptErrorAnswer.nullable(),
  })
  .meta({ description: "One attempt to deliver an event. Without an answer, status, headers and body are null." });

export const deliveryDetailAnswer = z
  .object({
    success: successAnswer,
    ...deliveryAnswer.shape,
    settledAt: instantAnswer("When it was delivered or parked; null before.").nullable(),
    body: z.string().meta({ description: "The exact bytes that are sent, as text." }),
    log: z.array(attemptAnswer).meta({ description: "Every attempt, the oldest first." }),
  })
  .meta({ description: "One event, its body and every attempt to deliver it." });

export const replayedDeliveryAnswer = z
  .object({
    success: successAnswer,
    eventId,
    state: z.enum(["waiting", "in_flight"]).meta({ description: "How its delivery stands now." }),
    warnings: warningsAnswer,
  })
  .meta({ description: "The event is sent again." });

export const replayPreviewAnswer = z
  .object({
    success: successAnswer,
    dryRun: z.literal(true).meta({ description: "Nothing is sent." }),
    count: countAnswer("How many events would be sent again."),
    warnings: warningsAnswer,
  })
  .meta({ description: "How many events a replay would send." });

const replay = {
  replayId: z.string().meta({ description: "`replay_…`" }),
  count: countAnswer("How many events matched when it was asked for."),
  ratePerSecond: countAnswer("Events a second at most."),
};

export const replayStartedAnswer = z
  .object({ success: successAnswer, ...replay, warnings: warningsAnswer })
  .meta({ description: "A replay that has begun, or runs already for the same events." });

const REPLAY_STATES = { running: true, done: true, cancelled: true } satisfies Record<ReplayState, true>;

export const replayAnswer = z
  .object({
    success: successAnswer,
    ...replay,
    state: z.enum(keysOf(REPLAY_STATES)).meta({ description: "Whether it goes on." }),
    done: countAnswer("Events that were taken up so far."),
    createdAt: instantAnswer("When it was asked for."),
    finishedAt: instantAnswer("When it ended; null while it runs.").nullable(),
  })
  .meta({ description: "How far a replay has come." });
