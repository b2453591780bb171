import {
  attemptAnswer,
  attemptErrorAnswer,
  deliveriesAnswer,
  deliveryAnswer,
  deliveryDetailAnswer,
  replayAnswer,
  replayedDeliveryAnswer,
  replayPreviewAnswer,
  replayStartedAnswer,
  webhookTestAnswer,
} from "../v1/delivery-answers.ts";
import { DELIVERY_STATES, MAX_LIMIT } from "../v1/list-deliveries.ts";
import { replayDeliveriesBody } from "../v1/replay-deliveries.ts";
import { testWebhookBody } from "../v1/test-webhook.ts";
import { LOAN_CHARACTERS } from "../wire-types.ts";
import * as example from "./delivery-examples.ts";
import type { Operation, Parameter } from "./operation.ts";

const EVENT_ID: Parameter = {
  name: "eventId",
  in: "path",
  description: "`evt_…`, from the list of deliveries or from the event itself.",
  schema: { type: "string" },
  example: example.delivery.eventId,
};

export const DELIVERY_OPERATIONS: readonly Operation[] = [
  {
    method: "POST",
    path: "/api/v1/partner/webhooks/test",
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
        examples: { "A ping that arrived": example.webhookTest },
      },
    },
    problems: ["CALLBACK_NOT_CONFIGURED", "INVALID_ENUM"],
  },
  {
    method: "GET",
    path: "/api/v1/partner/webhooks/deliveries",
    id: "listDeliveries",
    tag: "Deliveries",
    summary: "List your events and how their delivery stands",
    description: "The newest first, a page at a time. Each parameter may stand once or not at all.",
    parameters: [
      {
        name: "state",
        in: "query",
        description: "Events in this state; `waiting` means due, or between two attempts.",
        schema: { type: "string", enum: [...DELIVERY_STATES.keys()] },
      },
      {
        name: "loan",
        in: "query",
        description: "Events of this loan.",
        schema: { type: "string", minLength: 1, maxLength: LOAN_CHARACTERS },
      },
      {
        name: "since",
        in: "query",
        description: "Events made at this instant or later; a `+` in it is written `%2B`.",
        schema: { type: "string", format: "date-time" },
      },
      { name: "cursor", in: "query", description: "The `nextCursor` of the page before.", schema: { type: "string" } },
      {
        name: "limit",
        in: "query",
        description: "Deliveries in a page.",
        schema: { type: "integer", minimum: 1, maximum: MAX_LIMIT, default: 50 },
      },
    ],
    answers: {
      200: {
        description: "A page of events.",
        schemas: { Deliveries: deliveriesAnswer, Delivery: deliveryAnswer },
        examples: { "A parked event": example.deliveries },
      },
    },
    problems: [
      "VALIDATION_FAILED",
      "REQUIRED",
      "WRONG_TYPE",
      "TOO_LONG",
      "INVALID_TEXT",
      "INVALID_DATE",
      "NOT_UTC",
      "INVALID_ENUM",
    ],
  },
  {
    method: "GET",
    path: "/api/v1/partner/webhooks/deliveries/{eventId}",
    id: "getDelivery",
    tag: "Deliveries",
    summary: "Show one event and each attempt, with cause and remedy",
    description: "What is delivered or parked can be seen for 30 days at least; what waits, for as long as it waits.",
    parameters: [EVENT_ID],
    answers: {
      200: {
        description: "The event, its exact body, and every attempt.",
        schemas: { DeliveryDetail: deliveryDetailAnswer, Attempt: attemptAnswer },
        examples: { "An event that met a redirect": example.deliveryDetail },
      },
    },
    problems: ["DELIVERY_NOT_FOUND"],
  },
  {
    method: "POST",
    path: "/api/v1/partner/webhooks/deliveries/{eventId}/replay",
    id: "replayDelivery",
    tag: "Deliveries",
    summary: "Send one event again",
    description:
      "Same id, same bytes, same sequence. The very same request, signature and all, sends once; another one sends " +
      "again, and a receiver knows the event by its id.",
    parameters: [EVENT_ID],
    answers: {
      202: {
        description: "It is on its way.",
        schemas: { ReplayedDelivery: replayedDeliveryAnswer },
        examples: { "An event that waits for its turn": example.replayedDelivery },
      },
    },
    problems: [
      "DELIVERY_NOT_FOUND",
      "MALFORMED_JSON",
      "JSON_TOO_COMPLEX",
      "DUPLICATE_FIELD",
      "UNSUPPORTED_MEDIA_TYPE",
      "VALIDATION_FAILED",
    ],
  },
  {
    method: "POST",
    path: "/api/v1/partner/webhooks/deliveries/replay",
    id: "replayDeliveries",
    tag: "Deliveries",
    summary: "Send many events again, or count them",
    description: [
      "What matches at this moment is sent, in the order of its making. While a replay runs, another request for the same",
      "events gets its `replayId` and begins no second one. The body may be left out: every parked event is meant.",
    ].join("\n"),
    parameters: [
      {
        name: "dryRun",
        in: "query",
        description: "Only count. Either this or the body says it. Bare, `true` or `1` is yes; `false` or `0` is no.",
        schema: { type: "string", enum: ["", "true", "1", "false", "0"] },
      },
    ],
    request: {
      schemas: { ReplayRequest: replayDeliveriesBody },
      required: false,
      examples: { "Parked events of a morning": example.replayRequest },
    },
    answers: {
      200: {
        description: "With `dryRun`: how many events there are.",
        schemas: { ReplayPreview: replayPreviewAnswer },
        examples: { "A count": example.replayPreview },
      },
      202: {
        description: "The replay runs.",
        schemas: { ReplayStarted: replayStartedAnswer },
        examples: { "A replay that has begun": example.replayStarted },
      },
    },
    problems: ["REQUIRED", "WRONG_TYPE", "TOO_LONG", "INVALID_TEXT", "INVALID_DATE", "NOT_UTC", "INVALID_ENUM"],
  },
  {
    method: "GET",
    path: "/api/v1/partner/webhooks/replays/{replayId}",
    id: "getReplay",
    tag: "Deliveries",
    summary: "See how far a replay has come",
    description: "A restart of the service does not end a replay.",
    parameters: [
      {
        name: "replayId",
        in: "path",
        description: "`replay_…`, from the answer that began it.",
        schema: { type: "string" },
        example: example.replay.replayId,
      },
    ],
    answers: {
      200: {
        description: "How far it has come.",
        schemas: { Replay: replayAnswer },
        examples: { "A replay that runs": example.replay },
      },
    },
    problems: ["REPLAY_NOT_FOUND"],
  },
];
