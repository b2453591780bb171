import { CallbackNotConfiguredError, PingAbandonedError, remedyFor, type TestedDelivery } from "@collections/webhooks";
import { z } from "zod";
import type { App } from "../../app.ts";
import type { Answer } from "../../http/answer.ts";
import { Problem, validationProblem } from "../../http/problem.ts";
import type { SignedRequest } from "../caller/signed-request.ts";
import { countAnswer, instantAnswer, successAnswer, warningsAnswer } from "../endpoint/answer-parts.ts";
import type { SignedEndpoint } from "../endpoint/endpoint.ts";
import { fieldFaults, unknownFieldWarnings, type Warning } from "../reading/field-faults.ts";
import { jsonObject } from "../reading/json-body.ts";
import { attemptErrorAnswer, headersAnswer } from "./delivery.ts";
import { KEY_ID, ping } from "./examples.ts";

/** The body is optional. */
const testWebhookBody = z.object({
  kind: z
    .literal("ping", { error: 'takes "ping"' })
    .optional()
    .meta({ description: "The kind of event to send, which is `ping`." }),
});

/** The answer to a test of the callback (contract: POST webhooks/test). */
const webhookTestAnswer = z
  .object({
    success: successAnswer,
    delivered: z.boolean().meta({ description: "Whether your callback answered 2xx in time." }),
    deliveryId: z.string().meta({ description: "The `eventId` of the ping, `evt_…`." }),
    durationMs: countAnswer("The duration of the exchange, in milliseconds."),
    request: z
      .object({
        url: z.string().meta({ description: "The registered callback URL." }),
        headers: headersAnswer.meta({ description: "The headers that were sent." }),
        body: z.string().meta({ description: "The exact body that was sent." }),
      })
      .meta({ description: "The request that was sent." }),
    response: z
      .object({
        status: z.int().meta({ description: "The HTTP status of your callback's answer." }),
        headers: headersAnswer.meta({ description: "The headers of the answer, with their names in lower case." }),
        body: z.string().meta({ description: "The first 2 KB of the answer's body." }),
      })
      .nullable()
      .meta({ description: "The answer of your callback; null if it did not answer." }),
    error: attemptErrorAnswer.nullable(),
    endpoint: z
      .object({
        suspended: z
          .boolean()
          .meta({ description: "Whether the callback is suspended: events wait until it answers again." }),
        consecutiveFailures: countAnswer("The number of failed attempts in a row."),
        nextProbeAt: instantAnswer("When the service sends the next probe to a suspended callback.").nullable(),
        waiting: countAnswer("The number of events that wait to be delivered."),
        parked: countAnswer("The number of parked events, of which all attempts have failed."),
      })
      .meta({ description: "The state of your callback." }),
    warnings: warningsAnswer,
  })
  .meta({ description: "The result of a ping to your callback." });

const webhookTestExample = {
  success: true,
  delivered: true,
  deliveryId: ping.eventId,
  durationMs: 41,
  request: {
    url: "https://acme.example/hooks/collections",
    headers: {
      "Content-Type": "application/json",
      "User-Agent": "PartnerCollections-Webhooks/1.0",
      "X-Service-Event": "ping",
      "X-Service-Delivery": ping.eventId,
      "X-Service-Attempt": "1",
      "X-Service-Key-Id": KEY_ID,
      "X-Service-Timestamp": "1796275321120",
      "X-Service-Signature": "0d0b8e1f6f0c6c4b5fa0ac1e9d2f4b7a6c3e8d5f1a2b3c4d5e6f708192a3b4c5",
    },
    body: JSON.stringify(ping),
  },
  response: { status: 200, headers: { "content-type": "application/json" }, body: '{"received":true}' },
  error: null,
  endpoint: { suspended: false, consecutiveFailures: 0, nextProbeAt: null, waiting: 0, parked: 0 },
};

/** Sends a signed ping to the lender's callback (contract: Partner endpoints). */
export const testWebhook: SignedEndpoint = {
  name: "webhooks-test",
  method: "POST",
  path: "/api/v1/partner/webhooks/test",
  operation: {
    id: "testWebhook",
    tag: "Deliveries",
    summary: "Send a signed ping to your callback",
    description: [
      "Answers 200 as soon as the result of the ping is known, even if the ping was not delivered. The ping is not retried,",
      "is not counted as a failure, and has no sequence number. The body is optional: without a body, sign an empty body.",
    ].join("\n"),
    request: { schemas: { WebhookTest: testWebhookBody }, required: false, examples: { "A ping": { kind: "ping" } } },
    answers: {
      200: {
        description: "The result of the ping.",
        schemas: { WebhookTestResult: webhookTestAnswer, AttemptError: attemptErrorAnswer },
        examples: { "A delivered ping": webhookTestExample },
      },
    },
    problems: ["CALLBACK_NOT_CONFIGURED", "INVALID_ENUM"],
  },
  handle: sendPing,
};

async function sendPing(request: SignedRequest, { webhookTest }: App): Promise<Answer> {
  const warnings = request.body.length > 0 ? readBody(request) : [];
  const tested = await webhookTest.ping(request.lender).catch((error: unknown) => {
    if (error instanceof CallbackNotConfiguredError) throw new Problem("CALLBACK_NOT_CONFIGURED", error.message);
    if (error instanceof PingAbandonedError) throw new Problem("SERVICE_UNAVAILABLE", error.message);
    throw error;
  });
  const status = await webhookTest.endpoint(request.lender.id);
  const { delivered, deliveryId, durationMs, response } = tested;
  return {
    status: 200,
    body: {
      success: true,
      delivered,
      deliveryId,
      durationMs: Math.round(durationMs),
      request: tested.request,
      response,
      error: errorBody(tested),
      endpoint: {
        suspended: status?.state === "suspended",
        consecutiveFailures: status?.consecutiveFailures ?? 0,
        nextProbeAt: status?.nextProbeAt ?? null,
        waiting: status?.waiting ?? 0,
        parked: status?.parked ?? 0,
      },
      ...(warnings.length > 0 && { warnings }),
    },
  };
}

function readBody(request: SignedRequest): Warning[] {
  const body = jsonObject(request, new Set());
  const parsed = testWebhookBody.safeParse(body);
  const warnings = unknownFieldWarnings(body, Object.keys(testWebhookBody.shape));
  if (!parsed.success)
    throw validationProblem(fieldFaults(parsed.error, body), warnings.length > 0 ? { warnings } : {});
  return warnings;
}

/** Returns the error of a ping, with its cause and remedy; null for a ping that was delivered. */
function errorBody({ error, response, request }: TestedDelivery): object | null {
  if (error === null) return null;
  const { code, reason, detail } = error;
  const answer = { status: response?.status ?? null, headers: response?.headers ?? null };
  const failed = { errorCode: code, errorReason: reason, errorDetail: detail, ...answer, url: request.url };
  return { code, detail, ...remedyFor(failed) };
}
