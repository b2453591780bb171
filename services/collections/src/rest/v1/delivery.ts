import { parsePublicId, publicId } from "@collections/database";
import type { AttemptErrorCode, DeliverySummary } from "@collections/webhooks";
import { z } from "zod";
import { Problem } from "../../http/problem.ts";
import type { SignedRequest } from "../caller/signed-request.ts";
import { countAnswer, instantAnswer, keysOf, loanAnswer } from "../endpoint/answer-parts.ts";
import type { Parameter } from "../endpoint/endpoint.ts";
import { paymentCollected, RECORDED_AT } from "./examples.ts";

const ATTEMPT_ERRORS = {
  TIMEOUT: true,
  DNS: true,
  CONNECT: true,
  TLS: true,
  NON_2XX: true,
  REDIRECT: true,
  BLOCKED_ADDRESS: true,
} satisfies Record<AttemptErrorCode, true>;

export const headersAnswer = z.record(z.string(), z.string());

export const eventIdAnswer = z.string().meta({ description: "The `eventId` of the event, `evt_…`." });

export const attemptErrorAnswer = z
  .object({
    code: z.enum(keysOf(ATTEMPT_ERRORS)).meta({ description: "The code of the failure." }),
    detail: z.string().nullable().meta({ description: "The observation in this attempt, in words." }),
    cause: z.string().meta({ description: "The meaning of the failure." }),
    remedy: z.string().meta({ description: "The remedy." }),
  })
  .meta({ description: "The reason why an attempt failed, and the remedy." });

/** One delivery, as a list shows it (contract: Deliveries and replays). */
export const deliveryAnswer = z
  .object({
    eventId: eventIdAnswer,
    kind: z.string().meta({ description: "The kind of the event." }),
    sourceLoanNumber: loanAnswer,
    sequence: countAnswer("The number of the event among the events of its loan."),
    state: z
      .enum(["waiting", "in_flight", "delivered", "parked"])
      .meta({ description: "The state of the delivery. `waiting` means that it is due, or between two attempts." }),
    attempts: countAnswer("The number of attempts so far."),
    nextAttemptAt: instantAnswer("When the next attempt is made; null if no time is set.").nullable(),
    lastError: z.string().nullable().meta({ description: "The reason why the latest attempt failed." }),
    createdAt: instantAnswer("When the event was created."),
  })
  .meta({ description: "An event and the state of its delivery." });

export const deliveryExample = {
  eventId: paymentCollected.eventId,
  kind: paymentCollected.kind,
  sourceLoanNumber: paymentCollected.sourceLoanNumber,
  sequence: paymentCollected.sequence,
  state: "parked",
  attempts: 7,
  nextAttemptAt: null,
  lastError: "NON_2XX: The callback answered 503; any 2xx acknowledges.",
  createdAt: RECORDED_AT,
};

export const EVENT_ID: Parameter = {
  name: "eventId",
  in: "path",
  description: "The id of the event, `evt_…`, from the list of deliveries or from the event itself.",
  schema: { type: "string" },
  example: deliveryExample.eventId,
};

/**
 * Returns a delivery as an answer shows it (contract: Deliveries). `waiting` includes a delivery between two attempts.
 */
export function deliveryBody(delivery: DeliverySummary): object {
  return {
    eventId: publicId("evt", delivery.eventId),
    kind: delivery.kind,
    sourceLoanNumber: delivery.stream,
    sequence: Number(delivery.sequence),
    state: delivery.state === "retrying" ? "waiting" : delivery.state,
    attempts: delivery.attempts,
    nextAttemptAt: delivery.nextAttemptAt,
    lastError: delivery.lastError,
    createdAt: delivery.createdAt,
  };
}

/**
 * Returns the UUID of the event in the path.
 * @throws Problem DELIVERY_NOT_FOUND for a text that is no event id
 */
export function eventIdIn({ params }: SignedRequest): string {
  const eventId = parsePublicId("evt", params["eventId"] ?? "");
  if (eventId === undefined) throw deliveryNotFound();
  return eventId;
}

export function deliveryNotFound(): Problem {
  return new Problem(
    "DELIVERY_NOT_FOUND",
    "There is no event with this id; the list of deliveries has the ids of your events.",
  );
}
