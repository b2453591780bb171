import { HEADERS } from "@collections/signing";
import type { NamedSchemas } from "../endpoint/endpoint.ts";
import { referenceTo } from "./schemas.ts";
import {
  EVENT_KINDS,
  type EventKind,
  mintAnswer,
  mintAnswerExample,
  mintRequest,
  mintRequestExample,
} from "./webhooks.ts";

const SIGNING_HEADERS = [
  header(HEADERS.keyId, "The id of the key that signed the request. Use it to find the secret."),
  header(
    HEADERS.timestamp,
    "The time at which the request was signed: Unix time in milliseconds. Refuse a request that is more than " +
      "5 minutes from your clock.",
  ),
  header(
    HEADERS.signature,
    "The signature, which covers the path of your URL. Verify it with the body's bytes as they arrived.",
  ),
];

/**
 * Describes the requests that the service sends to lenders: each kind of event to the callback, and mint calls to the
 * mint URL.
 */
export function webhookPaths(): Record<string, object> {
  const events = EVENT_KINDS.map((event) => [event.kind, { post: eventOperation(event) }]);
  return { ...(Object.fromEntries(events) as Record<string, object>), "mint-link": { post: mintOperation() } };
}

/** Returns the schemas of the requests in `webhookPaths`, and of the answer to a mint call. */
export function webhookSchemas(): NamedSchemas {
  const events = EVENT_KINDS.map(({ name, schema }) => [name, schema]);
  return {
    ...(Object.fromEntries(events) as NamedSchemas),
    MintRequest: mintRequest,
    MintAnswer: mintAnswer,
  };
}

function eventOperation({ kind, name, summary, example }: EventKind): object {
  return {
    operationId: `on${name}`,
    summary,
    description: `Sent to your callback URL as \`${kind}\`.`,
    security: [],
    parameters: [
      header(HEADERS.event, "The kind of the event.", kind),
      header(HEADERS.delivery, "The id of the event, `evt_…`, which is equal to `eventId`."),
      header(HEADERS.attempt, "The number of the attempt, from 1."),
      ...SIGNING_HEADERS,
      { ...header(HEADERS.replay, "`true`. Only replays have this header."), required: false },
    ],
    requestBody: {
      required: true,
      content: { "application/json": { schema: { $ref: referenceTo(name) }, examples: { event: { value: example } } } },
    },
    responses: {
      "2XX": {
        description: "You have accepted the event. Answer within 10 seconds, and process the event afterwards.",
      },
      default: {
        description:
          "You have not accepted the event; a redirect counts as such an answer. The service makes up to seven " +
          "attempts.",
      },
    },
  };
}

function mintOperation(): object {
  return {
    operationId: "onMintLink",
    summary: "A field partner requests a payment link",
    description: [
      "Sent to your mint URL, with the auth header that you registered. The whole exchange may take at most 10 seconds, and",
      "the service does not retry it. Requests with the same `Idempotency-Key` must get the same link.",
    ].join("\n"),
    security: [],
    parameters: [
      header("Idempotency-Key", "A UUID. Requests with the same key must get the same link."),
      ...SIGNING_HEADERS,
    ],
    requestBody: {
      required: true,
      content: {
        "application/json": {
          schema: { $ref: referenceTo("MintRequest") },
          examples: { "link-request": { value: mintRequestExample } },
        },
      },
    },
    responses: {
      "2XX": {
        description: "The payment link.",
        content: {
          "application/json": {
            schema: { $ref: referenceTo("MintAnswer") },
            examples: { link: { value: mintAnswerExample } },
          },
        },
      },
      default: { description: "No link was created. You get the event `payment_link.unavailable` with the reason." },
    },
  };
}

function header(name: string, description: string, value?: string): object {
  const schema = value === undefined ? { type: "string" } : { type: "string", const: value };
  return { name, in: "header", required: true, description, schema };
}
