import type { CaseSnapshot, LoanState } from "./case-snapshot.ts";
import { orderOf, stateOf } from "./loan-order.ts";
import { ReceiverError } from "./receiver-error.ts";
import type { HeldLoan, ReceiverStorage } from "./receiver-storage.ts";
import { type ReceivedRequest, type Secrets, verifyRequest } from "./verify-request.ts";
import { type LoanEvent, MalformedEventError, readEvent, type WebhookBody } from "./webhook-event.ts";

/** Several times what an event may be. contract: Event kinds */
const DEFAULT_MAX_BODY_BYTES = 64 * 1024;
/** Half of what the service waits for an answer. contract: Delivery */
const FETCH_TIMEOUT_MS = 5_000;
const KNOWN_VERSION = 1;

/** A step forward of a loan. */
export interface LoanUpdate {
  /** What the loan is now: store it as it is. */
  readonly state: LoanState;
  /** What the service has just told. */
  readonly event: LoanEvent;
  /** Where events were missing, the whole case as it was read then, of which `state` is. */
  readonly snapshot?: CaseSnapshot;
}

/** What became of a request. `late`: its loan was further already. */
export type ReceivedOutcome = "applied" | "healed" | "late" | "duplicate" | "ping" | "ignored";

/** A request that was answered 2xx. */
export interface ReceivedReport {
  readonly outcome: ReceivedOutcome;
  readonly eventId: string;
  readonly kind: string;
  readonly event?: LoanEvent;
}

/** What a receiver is made of. `Tx` is what its storage's transactions are. */
export interface ReceiverOptions<Tx> {
  readonly secrets: Secrets;
  readonly storage: ReceiverStorage<Tx>;
  /** Reads the case where events are missing: a CollectionsClient. */
  readonly client: { getCase(loan: string, options: { signal: AbortSignal }): Promise<CaseSnapshot> };
  /**
   * Stores what a loan is now, through `tx`. Called in the order of `sequence`, once per event, and only forward; if it
   * throws, nothing has happened and the service sends the event again. Slow work is queued here, not done.
   */
  readonly apply: (update: LoanUpdate, tx: Tx) => Promise<void> | void;
  /** For who keeps all events: one that came when its loan was further already, once. It says nothing of the present. */
  readonly applyLate?: (event: LoanEvent, tx: Tx) => Promise<void> | void;
  /** The path of the registered callback URL, where a proxy in front of this changes it. */
  readonly path?: string;
  readonly maxBodyBytes?: number;
  /** For logs: each request that was answered 2xx. */
  readonly onReceived?: (report: ReceivedReport) => void;
  /** For logs: why an answer was 5xx. Goes to the console unless told. */
  readonly onError?: (error: unknown) => void;
  /** Unix milliseconds, in place of the machine's clock. */
  readonly now?: () => number;
}

/** What to answer. */
export interface ReceiverAnswer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

/** The receiver of the contract: verify, skip what is known, keep the order, read the case on a gap, apply. */
export interface Receiver {
  /** Takes one request. Never throws: what goes wrong is an answer, and `onError` hears of it. */
  receive(request: ReceivedRequest): Promise<ReceiverAnswer>;
  /** The answer where no request could be made of what came; `onError` hears of it too. */
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
      const refusal = await refusalOf(request, options, maxBodyBytes);
      if (refusal) return refusal;
      const report = await take(request, options);
      tell(report);
      return { status: 200, body: { received: true, outcome: report.outcome } };
    } catch (error) {
      return error instanceof MalformedEventError ? refused(400, error.code, error.message) : fail(error);
    }
  }

  /** What is committed is acknowledged, whatever the log says. */
  function tell(report: ReceivedReport): void {
    try {
      options.onReceived?.(report);
    } catch (error) {
      onError(error);
    }
  }
  return { receive, fail, maxBodyBytes };
}

async function refusalOf<Tx>(
  request: ReceivedRequest,
  { secrets, path = request.path, now = Date.now }: ReceiverOptions<Tx>,
  maxBodyBytes: number,
): Promise<ReceiverAnswer | undefined> {
  if (request.method !== "POST") return refused(405, "METHOD_NOT_ALLOWED", "Webhooks are sent by POST.");
  if (bytesOf(request.body) > maxBodyBytes) {
    return refused(413, "PAYLOAD_TOO_LARGE", `The body has more than ${maxBodyBytes} bytes.`);
  }
  const verdict = await verifyRequest({ ...request, path }, secrets, now());
  return verdict.ok ? undefined : refused(401, verdict.code, verdict.detail);
}

async function take<Tx>(request: ReceivedRequest, options: ReceiverOptions<Tx>): Promise<ReceivedReport> {
  const received = readEvent(textOf(request.body));
  if (received.about === "nothing") return nothingToApply(received);
  const { event } = received;
  if (event.version !== KNOWN_VERSION) {
    const message = `Event ${event.eventId} is of version ${event.version}: update @collections/lender-sdk.`;
    throw new ReceiverError(501, "UNKNOWN_VERSION", message);
  }
  const { eventId, kind } = event;
  const outcome = (await applied(event, options)) ?? (await applied(event, options, await caseOf(event, options)));
  return { outcome: outcome ?? unreachable(), eventId, kind, event };
}

/** Undefined at a gap without a snapshot: it has to be read first, and not while a transaction is open. */
function applied<Tx>(
  event: LoanEvent,
  { storage, apply, applyLate }: ReceiverOptions<Tx>,
  snapshot?: CaseSnapshot,
): Promise<ReceivedOutcome | undefined> {
  return storage.hold(event, async (held: HeldLoan<Tx>) => {
    const order = orderOf(event.sequence, held);
    if (order === "duplicate") return "duplicate";
    if (order === "late") {
      await applyLate?.(event, held.tx);
      await held.keep(held.sequence);
      return "late";
    }
    if (order === "next") {
      await apply({ state: stateOf(event), event }, held.tx);
      await held.keep(event.sequence);
      return "applied";
    }
    if (snapshot === undefined) return undefined;
    await apply({ state: stateOf(snapshot), event, snapshot }, held.tx);
    await held.keep(snapshot.sequence);
    return "healed";
  });
}

/** The case, at least as new as the event. */
async function caseOf<Tx>(event: LoanEvent, { client }: ReceiverOptions<Tx>): Promise<CaseSnapshot> {
  const { sourceLoanNumber, sequence } = event;
  let snapshot: CaseSnapshot;
  try {
    snapshot = await client.getCase(sourceLoanNumber, { signal: AbortSignal.timeout(FETCH_TIMEOUT_MS) });
  } catch (error) {
    const message = `Events before ${sequence} of ${sourceLoanNumber} are missing, and its case could not be read.`;
    throw new ReceiverError(503, "CASE_NOT_READ", message, error);
  }
  if (snapshot.sourceLoanNumber === sourceLoanNumber && snapshot.sequence >= sequence) return snapshot;
  const read = `${snapshot.sourceLoanNumber} at ${snapshot.sequence}`;
  const message = `getCase answered ${read} for ${sourceLoanNumber}, of which event ${sequence} is here: is it a cache?`;
  throw new ReceiverError(503, "CASE_TOO_OLD", message);
}

function nothingToApply({ eventId, kind }: Extract<WebhookBody, { about: "nothing" }>): ReceivedReport {
  return { outcome: kind === "ping" ? "ping" : "ignored", eventId, kind };
}

function refused(status: number, code: string, detail: string): ReceiverAnswer {
  return { status, body: { received: false, code, detail } };
}

/** The sender is told only what is ours to tell: an error of `apply` may have anything in its text. */
function failureOf(error: unknown): ReceiverAnswer {
  if (error instanceof ReceiverError) return refused(error.status, error.code, error.message);
  return refused(500, "NOT_APPLIED", "The event could not be applied; send it again.");
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
  throw new Error("With a snapshot there is no gap.");
}

function printError(error: unknown): void {
  // oxlint-disable-next-line no-console -- without onError the console is the only place to report a failure
  console.error("A webhook was not taken:", error);
}
