import { parsePublicId, publicId } from "@collections/database";
import { type DeliverySummary, type LoggedAttempt, remedyFor, type TestedDelivery } from "@collections/webhooks";
import { Problem } from "../../http/problem.ts";
import type { SignedRequest } from "../request-context.ts";

/** What a lender is shown of a delivery (contract: Deliveries). An event between two attempts is `waiting` too. */
export function deliveryBody(delivery: DeliverySummary): object {
  return {
    eventId: publicId("evt", delivery.eventId),
    kind: delivery.kind,
    sourceLoanNumber: delivery.loan,
    sequence: Number(delivery.sequence),
    state: delivery.state === "retrying" ? "waiting" : delivery.state,
    attempts: delivery.attempts,
    nextAttemptAt: delivery.nextAttemptAt,
    lastError: delivery.lastError,
    createdAt: delivery.createdAt,
  };
}

/** One attempt with what came back and, where it failed, why and what to do. */
export function attemptBody(attempt: LoggedAttempt, url: string | null): object {
  const { number, replay, startedAt, durationMs, outcome, status, headers, body, errorCode, errorDetail } = attempt;
  const error =
    errorCode === null
      ? null
      : { code: errorCode, detail: errorDetail, ...remedyFor({ errorCode, errorDetail, status, headers, url }) };
  return { number, replay, startedAt, durationMs, outcome, status, headers, body, error };
}

/** The error of a ping, with its cause and remedy; null when it arrived. */
export function pingErrorBody({ error, response, request }: TestedDelivery): object | null {
  if (error === null) return null;
  const { code, detail } = error;
  const answer = { status: response?.status ?? null, headers: response?.headers ?? null };
  return { code, detail, ...remedyFor({ errorCode: code, errorDetail: detail, ...answer, url: request.url }) };
}

/** The UUID of the event in the path. What cannot be an id is unknown, like an event of another lender. */
export function eventIdIn({ params }: SignedRequest): string {
  const eventId = parsePublicId("evt", params["eventId"] ?? "");
  if (eventId === undefined) throw deliveryNotFound();
  return eventId;
}

export function deliveryNotFound(): Problem {
  return new Problem("DELIVERY_NOT_FOUND", "There is no event with this id; the list of deliveries has their ids.");
}
