export { advanceReplays } from "./advance-replays.ts";
export { type AlertCause, type AlertFacts, type AlertJob, alertQueue } from "./alert.ts";
export { releaseHeldBack } from "./alert-held-back.ts";
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
} from "./attempt.ts";
export {
  type Backlog,
  backlogs,
  type EndpointReach,
  type FailedAttempt,
  lastFailedAttempt,
  oldestUndelivered,
  type UndeliveredEvent,
} from "./backlog.ts";
export { type DeliveryState } from "./delivery.ts";
export {
  deliveryById,
  type DeliveryDetail,
  type DeliveryFilter,
  type DeliveryPage,
  type DeliverySummary,
  listDeliveries,
  type LoggedAttempt,
} from "./delivery-log.ts";
export { type WebhookProblem, type WebhookProblemCode } from "./diagnosis.ts";
export { createDispatcher, type Dispatcher, type DispatcherOptions } from "./dispatcher.ts";
export { type CheckOptions, checkWebhooks, type LenderWebhooks, type WebhookReport } from "./doctor.ts";
export { emit, type EventToEmit } from "./emit.ts";
export {
  changeEndpoint,
  EndpointNotFoundError,
  endpointOf,
  type EndpointState,
  type EndpointStatus,
  registerEndpoint,
} from "./endpoint.ts";
export { eventsOf, type LoanEvent } from "./event.ts";
export {
  type EventAtKey,
  type EventKey,
  type EventPage,
  eventPage,
  eventsAt,
  eventsKeptFrom,
  type StoredEvent,
} from "./event-pages.ts";
export { DEFAULT_LADDER, InvalidLadderError, type Ladder, parseLadder } from "./ladder.ts";
export { type AttemptFacts, type Log } from "./lane.ts";
export { keepPartitions, type PartitionsKept, type PartitionState, partitionStates } from "./partitions.ts";
export { probeDue, type ProbeFacts, type Prober } from "./probe.ts";
export { recoverEndpoint } from "./recover.ts";
export { type FailedAttemptFacts, type Remedy, remedyFor } from "./remedy.ts";
export {
  cancelReplay,
  listReplays,
  type Replay,
  type ReplayableState,
  replayById,
  type ReplayFilter,
  type ReplayState,
} from "./replay.ts";
export { replayDelivery } from "./replay-delivery.ts";
export { retryDue, type RetryDue, retryQueue, sweep } from "./retry.ts";
export {
  DEFAULT_REPLAY_RATE,
  MAX_REPLAY_RATE,
  previewReplay,
  type RepeatableReplayRequest,
  type ReplayRequest,
  requestReplay,
  startReplay,
} from "./start-replay.ts";
export { DEFAULT_PROBE_INTERVAL_MS, DEFAULT_SUSPEND_AFTER, type SuspensionRule } from "./suspension.ts";
export {
  CallbackNotConfiguredError,
  type Ping,
  PingAbandonedError,
  type TestedDelivery,
  testEndpoint,
} from "./test-endpoint.ts";
export {
  deliveryTotals,
  type DeliveryTotals,
  holdEvents,
  lastSequences,
  sequenceProblems,
  type SequenceProblem,
} from "./verification.ts";
