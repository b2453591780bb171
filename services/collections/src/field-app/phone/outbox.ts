import { alone } from "./alone.ts";
import type { Result } from "./answers.ts";
import { NoAnswerError, RefusedRequestError } from "./graphql.ts";
import { forgetAnswers } from "./kept-answers.ts";
import { QUEUED } from "./operations.ts";
import { ask, inWords, signedInAs, SignedOutError } from "./session.ts";
import { forget, names, read, write } from "./storage.ts";
import { uuid } from "./uuid.ts";

/** Something that a field partner did at a door, whether the service knows of it or not. */
export interface Deed {
  readonly mutation: keyof typeof QUEUED;
  readonly input: { readonly visitId: string; readonly [field: string]: unknown };
  readonly caseId: string;
  /** Whose door it was. */
  readonly borrowerName: string;
}

/** A deed in the outbox; its key is the idempotency key of every try, and its order that of time. */
export interface OutboxItem extends Deed {
  readonly key: string;
  readonly atMs: number;
  readonly state: "waiting" | "done" | "refused";
  /** Why it was refused. */
  readonly message?: string;
  /** The link that was asked for, once the service knows of the wish. */
  readonly linkId?: string;
}

const RETRY_MS = [2_000, 4_000, 8_000, 15_000, 30_000];
/** A person at a door is told after so long that it goes on by itself. */
const PATIENCE_MS = 5_000;
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
 * is refused at once is not kept: the caller tells why, while the person looks.
 */
export async function perform(deed: Deed): Promise<OutboxItem> {
  const item: OutboxItem = { ...deed, key: uuid(), atMs: Date.now(), state: "waiting" };
  keep(item);
  if (navigator.onLine) await Promise.race([flush(), new Promise((resolve) => setTimeout(resolve, PATIENCE_MS))]);
  const now = itemOf(item.key) ?? item;
  if (now.state === "refused") dismiss(now.key);
  return now;
}

/** What this field partner has in it, in the order of their deeds. Another person's waits for that person. */
export function outbox(): OutboxItem[] {
  const items = names(mine()).map((name) => read<OutboxItem>(name));
  return items.filter((item) => item !== undefined).toSorted((one, other) => (one.key < other.key ? -1 : 1));
}

export function itemOf(key: string): OutboxItem | undefined {
  return read<OutboxItem>(mine() + key);
}

/** Takes a deed out that is done, or that was refused and read. */
export function dismiss(key: string): void {
  forget(mine() + key);
  tell();
}

/** Hears whenever something was added, sent or refused. */
export function onOutboxChange(hear: () => void, signal?: AbortSignal): void {
  changes.addEventListener("change", hear, signal ? { signal } : {});
}

/** Sends what waits, one after the other; a start that was refused takes along what was to follow it. */
export function flush(): Promise<void> {
  flushing ??= alone("outbox", sendAll).finally(() => {
    flushing = undefined;
  });
  return flushing;
}

async function sendAll(): Promise<void> {
  clearTimeout(timer);
  for (let item = nextWaiting(); item; item = nextWaiting()) {
    try {
      keep({ ...item, ...(await sent(item)) });
      failures = 0;
    } catch (error) {
      if (error instanceof SignedOutError) return;
      if (!(error instanceof NoAnswerError)) throw error;
      const waitMs = error.retryAfterMs ?? RETRY_MS[Math.min(failures, RETRY_MS.length - 1)];
      failures += 1;
      timer = setTimeout(() => void flush(), waitMs);
      return;
    }
  }
}

/** What became of it. @throws NoAnswerError, SignedOutError */
async function sent({ mutation, input, key }: OutboxItem): Promise<Partial<OutboxItem>> {
  const started = outbox().find((item) => item.mutation === "startVisit" && item.input.visitId === input.visitId);
  if (mutation !== "startVisit" && started?.state === "refused") {
    return { state: "refused", message: "Its visit could not be started." };
  }
  try {
    const variables = { input: { ...input, idempotencyKey: key } };
    const { result } = await ask<{ result: Result<{ paymentLink?: { id: string } }> }>(QUEUED[mutation], variables);
    if (result.code !== undefined) return { state: "refused", message: result.message };
    return { state: "done", ...(result.paymentLink && { linkId: result.paymentLink.id }) };
  } catch (error) {
    if (error instanceof RefusedRequestError) return { state: "refused", message: inWords(error) };
    throw error;
  }
}

function nextWaiting(): OutboxItem | undefined {
  return signedInAs() && outbox().find(({ state }) => state === "waiting");
}

function keep(item: OutboxItem): void {
  try {
    write(mine() + item.key, item);
  } catch {
    // No room: what can be asked again makes way.
    forgetAnswers();
    write(mine() + item.key, item);
  }
  tell();
}

function mine(): string {
  return `outbox.${signedInAs()?.fieldPartnerId ?? "nobody"}.`;
}

function tell(): void {
  changes.dispatchEvent(new Event("change"));
}
