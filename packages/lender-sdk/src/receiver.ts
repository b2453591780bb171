import type { CaseSnapshot, LoanState } from "./case-snapshot.ts";
import { orderOf, stateOf } from "./loan-order.ts";
import { ReceiverError } from "./receiver-error.ts";
import type { LockedLoan, ReceiverStorage } from "./storage/receiver-storage.ts";
import { type ReceivedRequest, type Secrets, verifyRequest } from "./verify-request.ts";
import { type LoanEvent, MalformedEventError, readEvent, type WebhookBody } from "./webhook-event.ts";

/** The maximum size of a webhook's body: several times the size of the largest event. contract: Event kinds */
const DEFAULT_MAX_BODY_BYTES = 64 * 1024;
/** The time limit for reading a case: half of the time that the service waits for an answer. contract: Delivery */
const FETCH_TIMEOUT_MS = 5_000;
const KNOWN_VERSION = 1;

/** The new state of a loan. */
export interface LoanUpdate {
  /** The loan's state now: store it as it is. */
  readonly state: LoanState;
  /** The event that was received. */
  readonly event: LoanEvent;
  /** If events were missing: the case that was read instead. `state` is taken from it. */
  readonly snapshot?: CaseSnapshot;
}

/**
 * The result of a request. `healed`: events were missing, so the receiver read the case from the service. `late`: the
 * receiver had already handled an event of the loan with a higher sequence.
 */
export type ReceivedOutcome = "applied" | "healed" | "late" | "duplicate" | "ping" | "ignored";

/** A request that was answered 2xx. */
export interface ReceivedReport {
  readonly outcome: ReceivedOutcome;
  readonly eventId: string;
  readonly kind: string;
  readonly event?: LoanEvent;
}

/** Options of a receiver. `Tx` is the transaction type of its storage. */
export interface ReceiverOptions<Tx> {
  readonly secrets: Secrets;
  readonly storage: ReceiverStorage<Tx>;
  /** Reads the case if events are missing. Pass a CollectionsClient. */
  readonly client: { getCase(loan: string, options: { signal: AbortSignal }): Promise<CaseSnapshot> };
  /**
   * Stores the loan's state through `tx`. It is called in the order of `sequence`, at most once per event, and never
   * with an older state. If it throws, the transaction is rolled back and the service sends the event again. Put slow
   * work into a queue here instead of doing it.
   */
  readonly apply: (update: LoanUpdate, tx: Tx) => Promise<void> | void;
  /**
   * For lenders that store all events: called once for an event that arrived after a newer one. Its state is outdated.
   */
  readonly applyLate?: (event: LoanEvent, tx: Tx) => Promise<void> | void;
  /** The path of the registered callback URL, if a proxy changes the path. */
  readonly path?: string;
  readonly maxBodyBytes?: number;
  /** Called for each request that was answered 2xx; use it for logs. */
  readonly onReceived?: (report: ReceivedReport) => void;
  /** Called with the cause of each 5xx answer; use it for logs. Default: console.error. */
  readonly onError?: (error: unknown) => void;
  /** The current time in Unix milliseconds. Default: Date.now. */
  readonly now?: () => number;
}

/** The answer to send. */
export interface ReceiverAnswer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

/**
 * A receiver that follows the contract. It verifies requests, skips duplicates, applies events in order, and reads the
 * case if events are missing.
 */
export interface Receiver {
  /** Processes one request. Never throws: a failure becomes an answer and is passed to `onError`. */
  receive(request: ReceivedRequest): Promise<ReceiverAnswer>;
  /** Returns the answer for a request that could not be read, and calls `onError`. */
  fail(error: unknown): ReceiverAnswer;
  readonly maxBodyBytes: number;
}

/**
 * Makes a receiver; `expressHandler` and `fetchHandler` connect it. contract: Receiver contract
 *
 * @example
 * const secrets = { lk_sandbox_7f3a: secret };
 * const storage = postgresStorage(pool);
 * const apply = async ({ state }: LoanUpdate, tx: SqlClient) => {
 *   await tx.query("update loan set owed = $2 where number = $1", [state.sourceLoanNumber, state.outstandingAfter]);
 * };
 * const receiver = createReceiver({ secrets, storage, client, apply });
 */
export function createReceiver<Tx>(options: ReceiverOptions<Tx>): Receiver {
  const { maxBodyBytes = DEFAULT_MAX_BODY_BYTES, onError = printError } = options;

  function fail(error: unknown): ReceiverAnswer {
    onError(error);
    return failureOf(error);
  }

  async function receive(request: ReceivedRequest): Promise<ReceiverAnswer> {
    try {
      const rejection = await rejectionOf(request, options, maxBodyBytes);
      if (rejection) return rejection;
      const report = await processEvent(request, options);
      notify(report);
      return { status: 200, body: { received: true, outcome: report.outcome } };
    } catch (error) {
      return error instanceof MalformedEventError ? rejected(400, error.code, error.message) : fail(error);
    }
  }

  /** Catches errors of `onReceived`: an event that is committed must be acknowledged. */
  function notify(report: ReceivedReport): void {
    try {
      options.onReceived?.(report);
    } catch (error) {
      onError(error);
    }
  }
  return { receive, fail, maxBodyBytes };
}

async function rejectionOf<Tx>(
  request: ReceivedRequest,
  { secrets, path = request.path, now = Date.now }: ReceiverOptions<Tx>,
  maxBodyBytes: number,
): Promise<ReceiverAnswer | undefined> {
  if (request.method !== "POST") return rejected(405, "METHOD_NOT_ALLOWED", "Webhooks are sent by POST.");
  if (bytesOf(request.body) > maxBodyBytes) {
    return rejected(413, "PAYLOAD_TOO_LARGE", `The body is larger than ${maxBodyBytes} bytes.`);
  }
  const verdict = await verifyRequest({ ...request, path }, secrets, now());
  return verdict.ok ? undefined : rejected(401, verdict.code, verdict.detail);
}

async function processEvent<Tx>(request: ReceivedRequest, options: ReceiverOptions<Tx>): Promise<ReceivedReport> {
  const received = readEvent(textOf(request.body));
  if (received.about === "nothing") return nothingToApply(received);
  const { event } = received;
  if (event.version !== KNOWN_VERSION) {
    const message = `Event ${event.eventId} has version ${event.version}, but only ${KNOWN_VERSION} is supported: update @collections/lender-sdk.`;
    throw new ReceiverError(501, "UNKNOWN_VERSION", message);
  }
  const { eventId, kind } = event;
  const outcome =
    (await applyEvent(event, options)) ?? (await applyEvent(event, options, await readCase(event, options)));
  return { outcome: outcome ?? unreachable(), eventId, kind, event };
}

/**
 * Applies an event in a transaction. Returns undefined if earlier events are missing and there is no snapshot: then the
 * case must be read first, outside the transaction.
 */
function applyEvent<Tx>(
  event: LoanEvent,
  { storage, apply, applyLate }: ReceiverOptions<Tx>,
  snapshot?: CaseSnapshot,
): Promise<ReceivedOutcome | undefined> {
  return storage.withLockedLoan(event, async (loan: LockedLoan<Tx>) => {
    const order = orderOf(event.sequence, loan);
    if (order === "duplicate") return "duplicate";
    if (order === "late") {
      await applyLate?.(event, loan.tx);
      await loan.record(loan.sequence);
      return "late";
    }
    if (order === "next") {
      await apply({ state: stateOf(event), event }, loan.tx);
      await loan.record(event.sequence);
      return "applied";
    }
    if (snapshot === undefined) return undefined;
    await apply({ state: stateOf(snapshot), event, snapshot }, loan.tx);
    await loan.record(snapshot.sequence);
    return "healed";
  });
}

/** Reads the case of the event's loan. Throws if the case is older than the event. */
async function readCase<Tx>(event: LoanEvent, { client }: ReceiverOptions<Tx>): Promise<CaseSnapshot> {
  const { sourceLoanNumber, sequence } = event;
  let snapshot: CaseSnapshot;
  try {
    snapshot = await client.getCase(sourceLoanNumber, { signal: AbortSignal.timeout(FETCH_TIMEOUT_MS) });
  } catch (error) {
    const message = `Events of loan ${sourceLoanNumber} before sequence ${sequence} are missing, and its case could not be read.`;
    throw new ReceiverError(503, "CASE_NOT_READ", message, error);
  }
  if (snapshot.sourceLoanNumber === sourceLoanNumber && snapshot.sequence >= sequence) return snapshot;
  const actual = `loan ${snapshot.sourceLoanNumber} at sequence ${snapshot.sequence}`;
  const expected = `loan ${sourceLoanNumber} at sequence ${sequence} or later`;
  const message = `getCase returned ${actual}, expected ${expected}. Check whether a cache returned an old answer.`;
  throw new ReceiverError(503, "CASE_TOO_OLD", message);
}

function nothingToApply({ eventId, kind }: Extract<WebhookBody, { about: "nothing" }>): ReceivedReport {
  return { outcome: kind === "ping" ? "ping" : "ignored", eventId, kind };
}

function rejected(status: number, code: string, detail: string): ReceiverAnswer {
  return { status, body: { received: false, code, detail } };
}

/** Sends the message of a ReceiverError only: an error of `apply` may contain confidential data. */
function failureOf(error: unknown): ReceiverAnswer {
  if (error instanceof ReceiverError) return rejected(error.status, error.code, error.message);
  return rejected(500, "NOT_APPLIED", "The event could not be applied; send it again.");
}

function textOf(body: Uint8Array | string): string {
  if (typeof body === "string") return body;
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(body);
  } catch (error) {
    throw new MalformedEventError("The body is not UTF-8.", { cause: error });
  }
}

function bytesOf(body: Uint8Array | string): number {
  return typeof body === "string" ? new TextEncoder().encode(body).length : body.length;
}

function unreachable(): never {
  throw new Error("Unreachable: an event with a snapshot has no gap.");
}

function printError(error: unknown): void {
  // oxlint-disable-next-line no-console -- without onError the console is the only place to report a failure
  console.error("A webhook was not processed:", error);
}
