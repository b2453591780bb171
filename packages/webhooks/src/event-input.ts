import { type OfTenant, type OnStream, streamOf, tenantIdOf } from "./endpoint/old-names.ts";

/** An event to send to a tenant. `stream` names the sequence that counts the event, such as an invoice number. */
export type EventToEmit = OfTenant & OnStream & EventContent;

/** An event without its tenant and stream. */
export interface EventContent {
  /** The id of the event: a UUIDv7 from `newId()`. Default: a new one. */
  readonly eventId?: string;
  /**
   * The type of the event, such as `invoice.paid`: 1 to 100 visible ASCII characters. It is sent as the header
   * `X-Service-Event`.
   */
  readonly kind: string;
  /**
   * The event's number in the tenant's unnamed endpoint. It must be one more than the number of the stream's last
   * event, and 1 for the first event. By default, `emit` assigns this number. Named endpoints always number their
   * events themselves. contract: Envelope
   */
  readonly sequence?: bigint;
  readonly occurredAt: Date;
  /**
   * The exact JSON text that every attempt sends, or a function that makes it. The function is called for each endpoint that
   * receives the event, with the event's id, its number in this endpoint, and the name of the endpoint.
   */
  readonly body: string | ((event: EmittedEvent) => string);
}

/** The copy of an event for one endpoint: its id, its sequence, and the name of the endpoint, or null if it has none. */
export interface EmittedEvent {
  readonly eventId: string;
  readonly sequence: bigint;
  readonly endpoint: string | null;
}

/** The result of emitting an event. All its copies have the same id. */
export interface EmitResult {
  readonly eventId: string;
  /** The number in the tenant's unnamed endpoint. Null if the tenant has only named endpoints. */
  readonly sequence: bigint | null;
  /** The endpoints that receive the event, the unnamed one first. Empty if the tenant has no endpoint for the event's kind. */
  readonly endpoints: readonly { readonly name: string | null; readonly sequence: bigint }[];
}

/** An event whose fields are valid. */
export interface CheckedEvent extends EventContent {
  readonly tenantId: string;
  readonly stream: string;
}

/** The kinds of fault of an event. */
export type EventFault =
  | "EVENTS_NOT_A_LIST"
  | "TENANT_ID_INVALID"
  | "EVENT_ID_INVALID"
  | "EVENT_ID_REPEATED"
  | "KIND_INVALID"
  | "STREAM_INVALID"
  | "SEQUENCE_INVALID"
  | "SEQUENCE_REPEATED"
  | "SEQUENCE_SKIPPED"
  | "NOT_NUMBERED"
  | "OCCURRED_AT_INVALID"
  | "BODY_INVALID";

/**
 * An event that cannot be emitted. Nothing was written. `index` is its position in the call.
 *
 * @example
 * try {
 *   await emit(tx, [{ tenantId, kind: "invoice.paid", stream: "INV-1001", occurredAt: now, body: "{}" }]);
 * } catch (error) {
 *   if (error instanceof InvalidEventError) console.error(error.code, error.index, error.message);
 *   throw error;
 * }
 */
export class InvalidEventError extends Error {
  override readonly name = "InvalidEventError";
  readonly code: EventFault;
  readonly index: number;

  constructor(code: EventFault, index: number, message: string, options?: ErrorOptions) {
    super(`Event ${index}: ${message}`, options);
    this.code = code;
    this.index = index;
  }
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i;
/** A valid kind of event. It is sent in a header, so only visible ASCII characters are allowed. */
const KIND = /^[\x21-\x7e]{1,100}$/;
/** The largest value of PostgreSQL's bigint. */
const MAX_SEQUENCE = 2n ** 63n - 1n;
const MAX_STREAM_CHARS = 1_000;
const QUOTED_CHARS = 60;

/**
 * Checks the fields of events, except their bodies, and that no tenant has an event id twice. The caller may be
 * JavaScript, so the types are checked too.
 */
export function checkEvents(events: readonly EventToEmit[]): CheckedEvent[] {
  if (!Array.isArray(events)) {
    throw new InvalidEventError("EVENTS_NOT_A_LIST", 0, "emit takes a list of events: await emit(tx, [event]).");
  }
  const checked = events.map(checkFields);
  const used = new Set<string>();
  for (const [index, { tenantId, eventId }] of checked.entries()) {
    if (eventId === undefined) continue;
    const key = `${tenantId}/${eventId.toLowerCase()}`;
    if (used.has(key)) throw repeatedId(tenantId, eventId, index);
    used.add(key);
  }
  return checked;
}

/** Creates the error for an event id that the tenant had before, without throwing it. */
export function repeatedId(tenantId: string, eventId: string, index: number, options?: ErrorOptions) {
  const message = `The tenant ${tenantId} has an event with the eventId ${eventId} already; expected a new one, as newId() makes it.`;
  return new InvalidEventError("EVENT_ID_REPEATED", index, message, options);
}

/**
 * Checks the fields of an event, except its body. Returns the event with `tenantId` in lower case and with `stream`, even
 * if the caller passed their older names.
 */
function checkFields(event: EventToEmit, index: number): CheckedEvent {
  const [tenantId, stream] = [tenantIdOf(event), streamOf(event)];
  const { eventId, kind, sequence, occurredAt } = event as { readonly [Field in keyof EventContent]: unknown };
  const fail = (code: EventFault, message: string): never => {
    throw new InvalidEventError(code, index, message);
  };
  if (!isText(tenantId, UUID)) fail("TENANT_ID_INVALID", `tenantId is ${quote(tenantId)}; expected a UUID.`);
  if (eventId !== undefined && !isText(eventId, UUID_V7)) {
    fail("EVENT_ID_INVALID", `eventId is ${quote(eventId)}; expected a UUID of version 7, as newId() makes it.`);
  }
  if (!isText(kind, KIND)) fail("KIND_INVALID", `kind is ${quote(kind)}; expected 1 to 100 visible ASCII characters.`);
  if (!isStream(stream)) {
    const expected = `a text of 1 to ${MAX_STREAM_CHARS} characters without NUL`;
    fail("STREAM_INVALID", `stream is ${quote(stream)}; expected ${expected}.`);
  }
  if (sequence !== undefined && !isSequence(sequence)) {
    fail("SEQUENCE_INVALID", `sequence is ${quote(sequence)}; expected a bigint from 1n, such as 12n.`);
  }
  if (!(occurredAt instanceof Date) || Number.isNaN(occurredAt.getTime())) {
    fail("OCCURRED_AT_INVALID", `occurredAt is ${quote(occurredAt)}; expected a valid Date.`);
  }
  return { ...event, tenantId: tenantId.toLowerCase(), stream };
}

/**
 * Returns the body of one copy of an event. Throws if the body is not a text. If `isParsed` is true, also throws if the
 * text is not JSON.
 */
export function bodyOf(
  { body }: EventContent,
  copy: EmittedEvent,
  index: number,
  options: { readonly isParsed: boolean },
): string {
  const text = typeof body === "function" ? body(copy) : body;
  checkBody(text, index, options);
  return text;
}

/** Checks that a body is a text, and with `isParsed` that it is JSON. */
export function checkBody(body: unknown, index: number, { isParsed }: { readonly isParsed: boolean }): void {
  if (typeof body === "string" && body !== "" && (!isParsed || isJson(body))) return;
  const message = `body is ${quote(body)}; expected JSON as text, such as JSON.stringify({ eventId, kind }).`;
  throw new InvalidEventError("BODY_INVALID", index, message);
}

/** Returns a value for an error message, on one line and not too long. */
export function quote(value: unknown): string {
  const text = typeof value === "string" ? JSON.stringify(value) : String(value);
  return text.length > QUOTED_CHARS ? `${text.slice(0, QUOTED_CHARS)}…` : text;
}

function isText(value: unknown, form: RegExp): value is string {
  return typeof value === "string" && form.test(value);
}

function isStream(value: unknown): value is string {
  return typeof value === "string" && value !== "" && value.length <= MAX_STREAM_CHARS && !value.includes("\0");
}

function isSequence(value: unknown): value is bigint {
  return typeof value === "bigint" && value > 0n && value <= MAX_SEQUENCE;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
