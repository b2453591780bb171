import { deliveryById, type LoggedAttempt, remedyFor } from "@collections/webhooks";
import { z } from "zod";
import type { App } from "../../app.ts";
import type { Answer } from "../../http/answer.ts";
import type { SignedRequest } from "../caller/signed-request.ts";
import { countAnswer, instantAnswer, successAnswer } from "../endpoint/answer-parts.ts";
import type { SignedEndpoint } from "../endpoint/endpoint.ts";
import {
  attemptErrorAnswer,
  deliveryAnswer,
  deliveryBody,
  deliveryExample,
  deliveryNotFound,
  EVENT_ID,
  eventIdIn,
  headersAnswer,
} from "./delivery.ts";
import { paymentCollected } from "./examples.ts";

const attemptAnswer = z
  .object({
    number: countAnswer("The number of the attempt, from 1."),
    replay: z.boolean().meta({ description: "Whether the attempt was part of a replay." }),
    startedAt: instantAnswer("When the attempt began."),
    durationMs: z.number().min(0).meta({ description: "The duration of the attempt, in milliseconds." }),
    outcome: z.enum(["delivered", "failed"]).meta({ description: "The outcome of the attempt." }),
    status: z.int().nullable().meta({ description: "The HTTP status of your callback's answer." }),
    headers: headersAnswer
      .nullable()
      .meta({ description: "The headers of the answer, with their names in lower case." }),
    body: z.string().nullable().meta({ description: "The first 2 KB of the answer's body." }),
    error: attemptErrorAnswer.nullable(),
  })
  .meta({ description: "One attempt to deliver an event. Without an answer, status, headers and body are null." });

const deliveryDetailAnswer = z
  .object({
    success: successAnswer,
    ...deliveryAnswer.shape,
    settledAt: instantAnswer("When the event was delivered or parked; null before that.").nullable(),
    body: z.string().meta({ description: "The exact body that is sent, as text." }),
    log: z.array(attemptAnswer).meta({ description: "All attempts, the oldest first." }),
  })
  .meta({ description: "One event, its body and every attempt to deliver it." });

const deliveryDetailExample = {
  success: true,
  ...deliveryExample,
  state: "waiting",
  attempts: 1,
  nextAttemptAt: "2026-12-03T05:18:14.254Z",
  lastError: "REDIRECT: The callback answered 301. Redirects are not followed: register the URL that it leads to.",
  settledAt: null,
  body: JSON.stringify(paymentCollected),
  log: [
    {
      number: 1,
      replay: false,
      startedAt: "2026-12-03T05:17:44.216Z",
      durationMs: 38,
      outcome: "failed",
      status: 301,
      headers: { location: "https://www.acme.example/hooks/collections" },
      body: "",
      error: {
        code: "REDIRECT",
        detail: "The callback answered 301. Redirects are not followed: register the URL that it leads to.",
        cause: "Your server redirected to https://www.acme.example/hooks/collections (301).",
        remedy: "Register the final URL, or answer 2xx at the registered one.",
      },
    },
  ],
};

/** Shows one event, its body and every attempt to deliver it (contract: Deliveries). */
export const getDelivery: SignedEndpoint = {
  name: "deliveries-get",
  method: "GET",
  path: "/api/v1/partner/webhooks/deliveries/{eventId}",
  operation: {
    id: "getDelivery",
    tag: "Deliveries",
    summary: "Show one event and its attempts, with causes and remedies",
    description:
      "A delivered or parked event can be read for at least 30 days. A waiting event can be read for as long " +
      "as it waits.",
    parameters: [EVENT_ID],
    answers: {
      200: {
        description: "The event, its exact body, and all attempts.",
        schemas: { DeliveryDetail: deliveryDetailAnswer, Attempt: attemptAnswer },
        examples: { "An event that was answered with a redirect": deliveryDetailExample },
      },
    },
    problems: ["DELIVERY_NOT_FOUND"],
  },
  handle: answerDelivery,
};

async function answerDelivery(request: SignedRequest, { database }: App): Promise<Answer> {
  const delivery = await deliveryById(database.em(), request.lender.id, eventIdIn(request), new Date());
  if (!delivery) throw deliveryNotFound();
  return {
    status: 200,
    body: {
      success: true,
      ...deliveryBody(delivery),
      settledAt: delivery.settledAt,
      body: delivery.body,
      log: delivery.log.map((attempt) => attemptBody(attempt, delivery.url)),
    },
  };
}

/** Returns one attempt: the answer of the callback and, for a failed attempt, the cause and the remedy. */
function attemptBody(attempt: LoggedAttempt, url: string | null): object {
  const { number, replay, startedAt, durationMs, outcome, status, headers, body, errorCode, errorDetail } = attempt;
  const error =
    errorCode === null
      ? null
      : { code: errorCode, detail: errorDetail, ...remedyFor({ errorCode, errorDetail, status, headers, url }) };
  return { number, replay, startedAt, durationMs, outcome, status, headers, body, error };
}
