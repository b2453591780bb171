export { advanceReplays } from "./replay/advance-replays.ts";
export { type AlertCause, type AlertFacts, type AlertJob, alertQueue } from "./endpoint/alert.ts";
export { releaseHeldBack } from "./endpoint/alert-held-back.ts";
export {
  type AttemptError,
  type AttemptErrorCode,
  type AttemptToMake,
  type CallbackAnswer,
  type Courier,
  DEFAULT_TIMEOUT_MS,
  type SentRequest,
  signedRequest,
  type WebhookKey,
} from "./endpoint/attempt.ts";
export {
  type Backlog,
  backlogs,
  type EndpointReach,
  type FailedAttempt,
  lastFailedAttempt,
  oldestUndelivered,
  type UndeliveredEvent,
} from "./insight/backlog.ts";
export { type DeliveryState } from "./storage/delivery.ts";
export {
  deliveryById,
  type DeliveryDetail,
  type DeliveryFilter,
  type DeliveryPage,
  type DeliverySummary,
  listDeliveries,
  type LoggedAttempt,
} from "./insight/delivery-log.ts";
export { type WebhookProblem, type WebhookProblemCode } from "./insight/diagnosis.ts";
export { createDispatcher, type Dispatcher, type DispatcherOptions } from "./dispatch/dispatcher.ts";
export { type CheckOptions, checkWebhooks, type LenderWebhooks, type WebhookReport } from "./insight/doctor.ts";
export { emit, type EventToEmit } from "./emit.ts";
export {
  changeEndpoint,
  EndpointNotFoundError,
  endpointOf,
  type EndpointState,
  type EndpointStatus,
  registerEndpoint,
} from "./endpoint/endpoint.ts";
export { eventsOf, type LoanEvent } from "./storage/event.ts";
export {
  type EventAtKey,
  type EventKey,
  type EventPage,
  eventPage,
  eventsAt,
  eventsKeptFrom,
  type StoredEvent,
} from "./insight/event-pages.ts";
export { DEFAULT_LADDER, InvalidLadderError, type Ladder, parseLadder } from "./dispatch/ladder.ts";
export { type AttemptFacts, type Log } from "./dispatch/lane.ts";
export { keepPartitions, type PartitionsKept, type PartitionState, partitionStates } from "./storage/partitions.ts";
export { probeDue, type ProbeFacts, type Prober } from "./endpoint/probe.ts";
export { recoverEndpoint } from "./endpoint/recover.ts";
export type { Remedy } from "./insight/remedy.ts";
export { type FailedAttemptFacts, remedyFor } from "./insight/remedy-for-attempt.ts";
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
export { retryDue, type RetryDue, retryQueue, sweep } from "./dispatch/retry.ts";
export {
  DEFAULT_REPLAY_RATE,
  MAX_REPLAY_RATE,
  previewReplay,
  type RepeatableReplayRequest,
  type ReplayRequest,
  requestReplay,
  startReplay,
} from "./replay/start-replay.ts";
export { DEFAULT_PROBE_INTERVAL_MS, DEFAULT_SUSPEND_AFTER, type SuspensionRule } from "./endpoint/suspension.ts";
export {
  CallbackNotConfiguredError,
  type Ping,
  PingAbandonedError,
  type TestedDelivery,
  testEndpoint,
} from "./endpoint/test-endpoint.ts";
export {
  deliveryTotals,
  type DeliveryTotals,
  holdEvents,
  lastSequences,
  sequenceProblems,
  type SequenceProblem,
} from "./insight/verification.ts";
