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
  header(HEADERS.keyId, "The key that signed: find its secret by this id."),
  header(HEADERS.timestamp, "When it was signed: Unix time in milliseconds. Refuse what is more than 5 minutes away."),
  header(HEADERS.signature, "The signature, over the path of your URL; verify it over the bytes as they arrived."),
];

/**
 * The requests that the service sends to lenders: each kind of event to the callback, and mint calls to the mint URL.
 */
export function webhookPaths(): Record<string, object> {
  const events = EVENT_KINDS.map((event) => [event.kind, { post: eventOperation(event) }]);
  return { ...(Object.fromEntries(events) as Record<string, object>), "mint-link": { post: mintOperation() } };
}

/** The schemas of these requests, and of the answer to a mint call. */
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
      header(HEADERS.event, "The kind.", kind),
      header(HEADERS.delivery, "`evt_…`, equal to `eventId`."),
      header(HEADERS.attempt, "1 for the first attempt."),
      ...SIGNING_HEADERS,
      { ...header(HEADERS.replay, "`true`, on replays only."), required: false },
    ],
    requestBody: {
      required: true,
      content: { "application/json": { schema: { $ref: referenceTo(name) }, examples: { event: { value: example } } } },
    },
    responses: {
      "2XX": { description: "Taken. Answer within 10 seconds, and do the work afterwards." },
      default: { description: "Not taken, redirects too: it is tried again, seven times in all." },
    },
  };
}

function mintOperation(): object {
  return {
    operationId: "onMintLink",
    summary: "A field partner asks for a payment link",
    description: [
      "Sent to your mint URL, with the auth header that you registered. There are 10 seconds for the whole exchange, and",
      "it is not repeated by itself: answer the same `Idempotency-Key` with the same link.",
    ].join("\n"),
    security: [],
    parameters: [header("Idempotency-Key", "A UUID: the same key has to get the same link."), ...SIGNING_HEADERS],
    requestBody: {
      required: true,
      content: {
        "application/json": {
          schema: { $ref: referenceTo("MintRequest") },
          examples: { wish: { value: mintRequestExample } },
        },
      },
    },
    responses: {
      "2XX": {
        description: "The link.",
        content: {
          "application/json": {
            schema: { $ref: referenceTo("MintAnswer") },
            examples: { link: { value: mintAnswerExample } },
          },
        },
      },
      default: { description: "There is no link: you get the event `payment_link.unavailable` with the reason." },
    },
  };
}

function header(name: string, description: string, value?: string): object {
  const schema = value === undefined ? { type: "string" } : { type: "string", const: value };
  return { name, in: "header", required: true, description, schema };
}
