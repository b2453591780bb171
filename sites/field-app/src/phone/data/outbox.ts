import { alone } from "./alone.ts";
import type { Result } from "./answers.ts";
import { NoAnswerError, RefusedRequestError } from "./graphql.ts";
import { forgetAnswers } from "./kept-answers.ts";
import { QUEUED } from "./operations.ts";
import { askAs, inWords, signedInAs, SignedOutError, whoAsks } from "./session.ts";
import { forget, names, read, write } from "./storage.ts";
import { madeAtMs, uuid } from "./uuid.ts";

/** Something that a field partner did at a door, whether the service knows of it or not. */
export interface Deed {
  readonly mutation: keyof typeof QUEUED;
  readonly input: { readonly visitId: string; readonly [field: string]: unknown };
  readonly caseId: string;
  /** Whose door it was. */
  readonly borrowerName: string;
}

/** A deed in the outbox; its key is the idempotency key of every try, and its place among the others. */
export interface OutboxItem extends Deed {
  readonly key: string;
  readonly atMs: number;
  readonly state: "waiting" | "done" | "refused";
  /** Why it was refused, or still waits. */
  readonly message?: string;
  /** The link that was asked for, once the service knows of the wish. */
  readonly linkId?: string;
  /** How often the service has failed at it. */
  readonly faults?: number;
}

/** What stands in the way of a deed: nothing of its own when there is no network. */
interface Trouble {
  readonly againInMs: number;
  readonly isItsOwn: boolean;
}

const RETRY_MS = [2_000, 4_000, 8_000, 15_000, 30_000];
/** A fault may be over in a moment; after so many, other visits do not wait for this one. */
const FEW_FAULTS = 3;
const HELD_RETRY_MS = 30_000;
/** A person at a door is told after so long that it goes on by itself. */
const PATIENCE_MS = 5_000;
const HELD = "The service keeps it until the start of the visit arrives.";
const KEEP_DONE_MS = 24 * 60 * 60_000;

const changes = new EventTarget();
let flushing: Promise<void> | undefined;
let failures = 0;
let timer: number | undefined;

/** Sends what waits now, and whenever there is a network again. */
export function startOutbox(): void {
  globalThis.addEventListener("online", () => void flush());
  // Another page of the app has changed it.
  globalThis.addEventListener("storage", tell);
  for (const { key, state, atMs } of outbox()) {
    if (state === "done" && Date.now() - atMs > KEEP_DONE_MS) dismiss(key);
  }
  void flush();
}

/**
 * Keeps a deed and sends it in its turn: how far that is after a moment, `waiting` where there is no network. One that
 * is refused at once is not kept: the caller tells why, while the person looks. @throws SignedOutError
 */
export async function perform(deed: Deed): Promise<OutboxItem> {
  const who = whoAsks();
  const item: OutboxItem = { ...deed, key: nextKey(who), atMs: Date.now(), state: "waiting" };
  keep(who, item);
  if (navigator.onLine) await Promise.race([flush(), new Promise((resolve) => setTimeout(resolve, PATIENCE_MS))]);
  // Whoever looks at the screen by now is not who did it, and goes nowhere from here.
  if (signedInAs()?.fieldPartnerId !== who) throw new SignedOutError();
  const now = read<OutboxItem>(nameOf(who, item.key)) ?? item;
  if (now.state === "refused") take(who, now.key);
  return now;
}

/** What this field partner has in it, in the order of their deeds. Another person's waits for that person. */
export function outbox(): OutboxItem[] {
  return itemsOf(signedInAs()?.fieldPartnerId);
}

export function itemOf(key: string): OutboxItem | undefined {
  return read<OutboxItem>(nameOf(signedInAs()?.fieldPartnerId, key));
}

/** Takes a deed out that is done, that was refused and read, or that is not to be sent; a start takes its chain along. */
export function dismiss(key: string): void {
  const who = signedInAs()?.fieldPartnerId;
  const item = itemOf(key);
  if (item?.mutation === "startVisit" && item.state === "waiting") {
    for (const other of itemsOf(who)) if (isOf(other, item.input.visitId)) take(who, other.key);
  } else take(who, key);
}

/** Hears whenever something was added, sent or refused. */
export function onOutboxChange(hear: () => void, signal?: AbortSignal): void {
  changes.addEventListener("change", hear, signal ? { signal } : {});
}

/** Sends what waits, one after the other; a start that was refused takes along what was to follow it. */
export function flush(): Promise<void> {
  const who = signedInAs()?.fieldPartnerId;
  if (who === undefined) return Promise.resolve();
  flushing ??= alone("outbox", () => sendAll(who)).finally(() => {
    flushing = undefined;
    // Somebody else has signed in meanwhile, who has an outbox, too.
    if (signedInAs()?.fieldPartnerId !== who) void flush();
  });
  return flushing;
}

/** Sends what one person has waiting, as long as that person is signed in. */
async function sendAll(who: string): Promise<void> {
  clearTimeout(timer);
  const passedOver = new Set<string>();
  let againInMs = Infinity;
  for (let item = nextOf(who, passedOver); item; item = nextOf(who, passedOver)) {
    const trouble = await tried(who, item);
    if (!trouble) continue;
    againInMs = Math.min(againInMs, trouble.againInMs);
    if (!trouble.isItsOwn) break;
    passedOver.add(item.input.visitId);
  }
  if (againInMs < Infinity) timer = setTimeout(() => void flush(), againInMs);
}

/** The oldest that may go: a visit's start goes before the rest of that visit, whatever the clock has said. */
function nextOf(who: string, passedOver: ReadonlySet<string>): OutboxItem | undefined {
  if (signedInAs()?.fieldPartnerId !== who) return undefined;
  const waiting = itemsOf(who).filter(({ state, input }) => state === "waiting" && !passedOver.has(input.visitId));
  const starts = new Set(waiting.filter(isStart).map(({ input }) => input.visitId));
  return waiting.find((item) => isStart(item) || !starts.has(item.input.visitId));
}

/** Sends one and keeps what became of it; what stood in the way when it still waits. */
async function tried(who: string, item: OutboxItem): Promise<Trouble | undefined> {
  try {
    const became = await sent(who, item);
    keepOn(who, { ...item, ...became });
    failures = 0;
    return became.state === "waiting" ? { againInMs: HELD_RETRY_MS, isItsOwn: true } : undefined;
  } catch (error) {
    if (error instanceof SignedOutError) return { againInMs: Infinity, isItsOwn: false };
    if (!(error instanceof NoAnswerError)) throw error;
    const { message, retryAfterMs, isFault } = error;
    if (!isFault) return { againInMs: retryAfterMs ?? retryMs((failures += 1)), isItsOwn: false };
    const faults = (item.faults ?? 0) + 1;
    keepOn(who, { ...item, faults, message });
    return { againInMs: retryAfterMs ?? retryMs(faults), isItsOwn: faults >= FEW_FAULTS };
  }
}

/** What became of it. @throws NoAnswerError, SignedOutError */
async function sent(who: string, { mutation, input, key }: OutboxItem): Promise<Partial<OutboxItem>> {
  const started = itemsOf(who).find((item) => isStart(item) && isOf(item, input.visitId));
  if (mutation !== "startVisit" && started?.state === "refused") {
    return { state: "refused", message: "Its visit could not be started." };
  }
  try {
    const variables = { input: { ...input, idempotencyKey: key } };
    const { result } = await askAs<SentAnswer>(who, QUEUED[mutation], variables);
    // Not refused: it is done when the start arrives, and the same request tells what has become of it.
    if (result.isHeld === true) return { state: "waiting", message: HELD };
    if (result.code !== undefined) return { state: "refused", message: result.message };
    return { state: "done", ...(result.paymentLink && { linkId: result.paymentLink.id }) };
  } catch (error) {
    if (error instanceof RefusedRequestError) return { state: "refused", message: inWords(error) };
    throw error;
  }
}

interface SentAnswer {
  readonly result: Result<{ readonly paymentLink?: { readonly id: string } }>;
}

function retryMs(failed: number): number {
  return RETRY_MS[Math.min(failed, RETRY_MS.length) - 1] as number;
}

/** Later than all that is there: the clock of a phone may go back, and the order of deeds does not. */
function nextKey(who: string): string {
  const last = itemsOf(who).at(-1);
  return uuid(last ? Math.max(Date.now(), madeAtMs(last.key) + 1) : Date.now());
}

function itemsOf(who: string | undefined): OutboxItem[] {
  const items = names(nameOf(who)).map((name) => read<OutboxItem>(name));
  return items.filter((item) => item !== undefined).toSorted((one, other) => (one.key < other.key ? -1 : 1));
}

function isStart({ mutation }: Deed): boolean {
  return mutation === "startVisit";
}

function isOf({ input }: Deed, visitId: string): boolean {
  return input.visitId === visitId;
}

function keep(who: string, item: OutboxItem): void {
  try {
    write(nameOf(who, item.key), item);
  } catch {
    // No room: what can be asked again makes way.
    forgetAnswers();
    write(nameOf(who, item.key), item);
  }
  tell();
}

/** Keeps what became of a deed, unless it was taken out while it was on its way. */
function keepOn(who: string, item: OutboxItem): void {
  if (read(nameOf(who, item.key)) !== undefined) keep(who, item);
}

function take(who: string | undefined, key: string): void {
  forget(nameOf(who, key));
  tell();
}

function nameOf(who = "nobody", key = ""): string {
  return `outbox.${who}.${key}`;
}

function tell(): void {
  changes.dispatchEvent(new Event("change"));
}
