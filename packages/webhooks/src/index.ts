export {
  type ReceivedWebhook,
  type VerifiedWebhook,
  verifyWebhook,
  type WebhookFault,
  WebhookNotVerifiedError,
  type WebhookVerification,
} from "@collections/signing";
export { type AlertCause, type AlertFacts, type AlertJob, alertQueue } from "./endpoint/alert.ts";
export {
  type AttemptErrorCode,
  type SentRequest,
  signedRequest,
  type WebhookBrand,
  type WebhookSender,
} from "./endpoint/attempt.ts";
export {
  type Backlog,
  backlogs,
  type EndpointReach,
  endpointWithLastFailure,
  type FailedAttempt,
  lastFailedAttempt,
  oldestUndelivered,
  type UndeliveredEvent,
} from "./insight/backlog.ts";
export { type DeliveryState } from "./storage/delivery.ts";
export {
  deliveryById,
  deliveryOfEvent,
  type DeliveryDetail,
  type DeliveryFilter,
  type DeliveryPage,
  type DeliverySummary,
  listDeliveries,
  type LoggedAttempt,
} from "./insight/delivery-log.ts";
export { type WebhookProblem, type WebhookProblemCode } from "./insight/diagnosis.ts";
export { type AttemptFacts } from "./dispatch/attempt-facts.ts";
export { checkWebhooks, type LenderWebhooks, type TenantWebhooks } from "./insight/doctor.ts";
export { emit, type EmitOptions } from "./emit.ts";
export {
  type EmitResult,
  type EmittedEvent,
  type EventFault,
  type EventToEmit,
  InvalidEventError,
} from "./event-input.ts";
export { type EndpointRef } from "./endpoint/address.ts";
export { streamHistory, type StreamHistory } from "./insight/stream-history.ts";
export {
  EndpointNotFoundError,
  endpointOf,
  type EndpointStatus,
  type ListedEndpoint,
  listEndpoints,
} from "./endpoint/endpoint.ts";
export { type EndpointHealth, endpointHealth } from "./endpoint/endpoint-health.ts";
export { changeEndpoint, registerEndpoint, removeEndpoint, upsertEndpoint } from "./endpoint/register-endpoint.ts";
export { type EndpointFault, InvalidEndpointError } from "./endpoint/endpoint-input.ts";
export { InvalidWebhookHeaderError } from "./endpoint/custom-headers.ts";
export { eventsOf, type StreamEvent } from "./storage/event.ts";
export { type ErasedTenant, EraseNotPermittedError, eraseTenant } from "./storage/erase-tenant.ts";
export {
  type EventsWithoutEndpoint,
  type EventWithoutEndpoint,
  listEventsWithoutEndpoint,
} from "./storage/event-without-endpoint.ts";
export {
  eventPage,
  eventsAt,
  eventsKeptFrom,
  type KindedEvent,
  type LastEvents,
  lastEvents,
  type StoredEvent,
} from "./insight/event-pages.ts";
export { DEFAULT_LADDER, InvalidLadderError, type Ladder, parseLadder } from "./dispatch/ladder.ts";
export { ConflictingNamesError } from "./endpoint/old-names.ts";
export { type ProbeFacts } from "./endpoint/probe.ts";
export { recoverEndpoint } from "./endpoint/recover.ts";
export type { Remedy } from "./insight/remedy.ts";
export { InvalidWebhookKeyError, type WebhookKeyFault } from "./endpoint/webhook-key.ts";
export { remedyFor } from "./insight/remedy-for-attempt.ts";
export {
  cancelReplay,
  listReplays,
  type Replay,
  type ReplayableState,
  replayById,
  type ReplayFilter,
  type ReplayState,
} from "./replay/replay.ts";
export { replayDelivery } from "./replay/replay-delivery.ts";
export {
  DEFAULT_REPLAY_RATE,
  MAX_REPLAY_RATE,
  previewReplay,
  requestReplay,
  startReplay,
} from "./replay/start-replay.ts";
export { startWebhooks, type Webhooks } from "./start-webhooks.ts";
export {
  CallbackNotConfiguredError,
  type Ping,
  PingAbandonedError,
  type TestedDelivery,
  testEndpoint,
} from "./endpoint/test-endpoint.ts";
export { deliveryTotals, holdEvents, lastSequences, sequenceProblems } from "./insight/verification.ts";
export { InvalidWebhookOptionError, type WebhooksOptions } from "./webhooks-options.ts";
