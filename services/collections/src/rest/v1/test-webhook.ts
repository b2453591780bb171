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

/** The body may be left out. */
const testWebhookBody = z.object({
  kind: z.literal("ping", { error: 'takes "ping"' }).optional().meta({ description: "What to send: ping." }),
});

/** contract: POST webhooks/test */
const webhookTestAnswer = z
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
      "Answers 200 as soon as it is known how the ping went, delivered or not. It is not retried, not counted as a",
      "failure, and takes no sequence number. The body may be left out: then nothing is signed as the body.",
    ].join("\n"),
    request: { schemas: { WebhookTest: testWebhookBody }, required: false, examples: { "A ping": { kind: "ping" } } },
    answers: {
      200: {
        description: "The ping was sent, and this came of it.",
        schemas: { WebhookTestResult: webhookTestAnswer, AttemptError: attemptErrorAnswer },
        examples: { "A ping that arrived": webhookTestExample },
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

/** The error of a ping, with its cause and remedy; null for a ping that was delivered. */
function errorBody({ error, response, request }: TestedDelivery): object | null {
  if (error === null) return null;
  const { code, reason, detail } = error;
  const answer = { status: response?.status ?? null, headers: response?.headers ?? null };
  const failed = { errorCode: code, errorReason: reason, errorDetail: detail, ...answer, url: request.url };
  return { code, detail, ...remedyFor(failed) };
}
