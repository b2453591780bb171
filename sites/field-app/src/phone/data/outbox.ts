import type { Refusal } from "./answers.ts";
import { exclusively } from "./exclusively.ts";
import { NoAnswerError, RefusedRequestError } from "./graphql.ts";
import { forgetAnswers } from "./kept-answers.ts";
import { QUEUED } from "./operations.ts";
import { askAs, signedInAs, SignedOutError, signedInId } from "./session.ts";
import { Stored } from "./storage.ts";
import { madeAtMs, uuid } from "./uuid.ts";

/**
 * An action of a field partner at a borrower's door: the start or the end of a visit, or a link request. The service
 * may not have received it yet.
 */
export interface Deed {
  readonly mutation: keyof typeof QUEUED;
  readonly input: { readonly visitId: string; readonly [field: string]: unknown };
  readonly caseId: string;
  /** The name of the borrower at whose door the action took place. */
  readonly borrowerName: string;
}

/** A deed in the outbox. `key` is the idempotency key of every attempt; deeds are sent in the order of their keys. */
export interface OutboxItem extends Deed {
  readonly key: string;
  readonly atMs: number;
  readonly state: "waiting" | "done" | "refused";
  /**
   * Why the deed was refused, or why it still waits. A deed that an earlier version of the app has stored has only the
   * message.
   */
  readonly message?: string;
  readonly trouble?: Refusal;
  /** The id of the requested link, after the service has accepted the request. */
  readonly linkId?: string;
  /** How often the service has failed to process the deed. */
  readonly faults?: number;
}

/** Why a deed could not be sent. `isItsOwn` is false if the reason affects all deeds, such as a missing network. */
interface Trouble {
  readonly againInMs: number;
  readonly isItsOwn: boolean;
}

const RETRY_MS = [2_000, 4_000, 8_000, 15_000, 30_000];
/** After this many failures of a deed, deeds of other visits no longer wait for it. Fewer failures may be temporary. */
const FEW_FAULTS = 3;
const HELD_RETRY_MS = 30_000;
/** The longest time that `perform` waits for the service's answer before it reports the deed as waiting. */
const PATIENCE_MS = 5_000;
/** The codes of the app itself for deeds that wait or are refused. */
const HELD = { code: "HELD", message: "The service keeps this action until the start of the visit arrives." };
const START_REFUSED = { code: "START_REFUSED", message: "The start of the visit was refused." };
const KEEP_DONE_MS = 24 * 60 * 60_000;

const items = new Stored<OutboxItem>("outbox.");
const changes = new EventTarget();
let flushing: Promise<void> | undefined;
let failures = 0;
let timer: number | undefined;

/** Sends the waiting deeds now, and whenever the network returns. */
export function startOutbox(): void {
  globalThis.addEventListener("online", () => void flush());
  // Another page of the app has changed the outbox.
  globalThis.addEventListener("storage", notifyChange);
  for (const { key, state, atMs } of outbox()) {
    if (state === "done" && Date.now() - atMs > KEEP_DONE_MS) dismiss(key);
  }
  void flush();
}

/**
 * Stores a deed and sends it after the deeds before it. Returns its state after a short time: `waiting` if there is no
 * network. A deed that is refused immediately is not kept: the caller shows the reason to the field partner.
 * @throws SignedOutError
 */
export async function perform(deed: Deed): Promise<OutboxItem> {
  const who = signedInId();
  const item: OutboxItem = { ...deed, key: nextKey(who), atMs: Date.now(), state: "waiting" };
  keep(who, item);
  if (navigator.onLine) await Promise.race([flush(), new Promise((resolve) => setTimeout(resolve, PATIENCE_MS))]);
  // If another field partner has signed in during the wait, throw, so that the caller does not open the next screen.
  if (signedInAs()?.fieldPartnerId !== who) throw new SignedOutError();
  const now = items.read(nameOf(who, item.key)) ?? item;
  if (now.state === "refused") removeItem(who, now.key);
  return now;
}

/**
 * Returns the deeds of the signed-in field partner, in order. Another field partner's deeds stay stored until that
 * person signs in again.
 */
export function outbox(): OutboxItem[] {
  return itemsOf(signedInAs()?.fieldPartnerId);
}

export function itemOf(key: string): OutboxItem | undefined {
  return items.read(nameOf(signedInAs()?.fieldPartnerId, key));
}

/**
 * Removes a deed: it is done, the user has read why it was refused, or the user does not want to send it. Removing the
 * start of a visit also removes the later deeds of the visit.
 */
export function dismiss(key: string): void {
  const who = signedInAs()?.fieldPartnerId;
  const item = itemOf(key);
  if (item?.mutation === "startVisit" && item.state === "waiting") {
    for (const other of itemsOf(who)) if (isOf(other, item.input.visitId)) removeItem(who, other.key);
  } else removeItem(who, key);
}

/** Calls the listener whenever a deed was added, sent or refused. */
export function onOutboxChange(listener: () => void, signal?: AbortSignal): void {
  changes.addEventListener("change", listener, signal ? { signal } : {});
}

/** Sends the waiting deeds one after the other. If a start is refused, the later deeds of its visit are refused too. */
export function flush(): Promise<void> {
  const who = signedInAs()?.fieldPartnerId;
  if (who === undefined) return Promise.resolve();
  flushing ??= exclusively("outbox", () => sendAll(who)).finally(() => {
    flushing = undefined;
    // If another field partner has signed in since then, send that person's waiting deeds.
    if (signedInAs()?.fieldPartnerId !== who) void flush();
  });
  return flushing;
}

/** Sends one field partner's waiting deeds as long as that person is signed in. */
async function sendAll(who: string): Promise<void> {
  clearTimeout(timer);
  const passedOver = new Set<string>();
  let againInMs = Infinity;
  for (let item = nextOf(who, passedOver); item; item = nextOf(who, passedOver)) {
    const trouble = await trySend(who, item);
    if (!trouble) continue;
    againInMs = Math.min(againInMs, trouble.againInMs);
    if (!trouble.isItsOwn) break;
    passedOver.add(item.input.visitId);
  }
  if (againInMs < Infinity) timer = setTimeout(() => void flush(), againInMs);
}

/**
 * Returns the oldest deed that may be sent. A visit's start is sent before its other deeds, even if the clock was set
 * back.
 */
function nextOf(who: string, passedOver: ReadonlySet<string>): OutboxItem | undefined {
  if (signedInAs()?.fieldPartnerId !== who) return undefined;
  const waiting = itemsOf(who).filter(({ state, input }) => state === "waiting" && !passedOver.has(input.visitId));
  const starts = new Set(waiting.filter(isStart).map(({ input }) => input.visitId));
  return waiting.find((item) => isStart(item) || !starts.has(item.input.visitId));
}

/** Sends a deed and stores its new state. If the deed still waits, returns the reason and when to send it again. */
async function trySend(who: string, item: OutboxItem): Promise<Trouble | undefined> {
  try {
    const became = await sendItem(who, item);
    updateItem(who, { ...item, ...became });
    failures = 0;
    return became.state === "waiting" ? { againInMs: HELD_RETRY_MS, isItsOwn: true } : undefined;
  } catch (error) {
    if (error instanceof SignedOutError) return { againInMs: Infinity, isItsOwn: false };
    if (!(error instanceof NoAnswerError)) throw error;
    const { code, message, retryAfterMs, isFault } = error;
    if (!isFault) return { againInMs: retryAfterMs ?? retryMs((failures += 1)), isItsOwn: false };
    const faults = (item.faults ?? 0) + 1;
    updateItem(who, { ...item, faults, trouble: { code, message } });
    return { againInMs: retryAfterMs ?? retryMs(faults), isItsOwn: faults >= FEW_FAULTS };
  }
}

/** Sends a deed and returns its new state. @throws NoAnswerError, SignedOutError */
async function sendItem(who: string, { mutation, input, key }: OutboxItem): Promise<Partial<OutboxItem>> {
  const started = itemsOf(who).find((item) => isStart(item) && isOf(item, input.visitId));
  if (mutation !== "startVisit" && started?.state === "refused") {
    return { state: "refused", trouble: START_REFUSED };
  }
  try {
    const variables = { input: { ...input, idempotencyKey: key } };
    const { result } = await askAs(who, QUEUED[mutation], variables);
    // The service has queued this mutation and will process it when the start of the visit arrives. Keep it in the
    // outbox: a retry after that returns the result.
    if (result.isHeld === true) return { state: "waiting", trouble: HELD };
    if (result.code !== undefined) return { state: "refused", trouble: result };
    return { state: "done", ...(result.paymentLink && { linkId: result.paymentLink.id }) };
  } catch (error) {
    if (!(error instanceof RefusedRequestError)) throw error;
    return { state: "refused", trouble: { code: error.code, message: error.message } };
  }
}

function retryMs(failed: number): number {
  return RETRY_MS[Math.min(failed, RETRY_MS.length) - 1] as number;
}

/** Returns a key that sorts after all existing keys, even if the phone's clock was set back. */
function nextKey(who: string): string {
  const last = itemsOf(who).at(-1);
  return uuid(last ? Math.max(Date.now(), madeAtMs(last.key) + 1) : Date.now());
}

function itemsOf(who: string | undefined): OutboxItem[] {
  const stored = items.keys(nameOf(who)).map((key) => items.read(key));
  return stored.filter((item) => item !== undefined).toSorted((one, other) => (one.key < other.key ? -1 : 1));
}

function isStart({ mutation }: Deed): boolean {
  return mutation === "startVisit";
}

function isOf({ input }: Deed, visitId: string): boolean {
  return input.visitId === visitId;
}

function keep(who: string, item: OutboxItem): void {
  try {
    items.write(item, nameOf(who, item.key));
  } catch {
    // The storage is full: delete answers, which can be requested again.
    forgetAnswers();
    items.write(item, nameOf(who, item.key));
  }
  notifyChange();
}

/** Stores the new state of a deed, unless the deed was removed while it was being sent. */
function updateItem(who: string, item: OutboxItem): void {
  if (items.read(nameOf(who, item.key)) !== undefined) keep(who, item);
}

function removeItem(who: string | undefined, key: string): void {
  items.forget(nameOf(who, key));
  notifyChange();
}

function nameOf(who = "nobody", key = ""): string {
  return `${who}.${key}`;
}

function notifyChange(): void {
  changes.dispatchEvent(new Event("change"));
}
