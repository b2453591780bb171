import type { SyncedCases, WholeCase } from "./answers.ts";
import { exclusively } from "./exclusively.ts";
import { NoAnswerError, RefusedRequestError } from "./graphql.ts";
import { forgetAnswer, keepAnswer, keptAnswer, keptVariables } from "./kept-answers.ts";
import { EARNING_LINES, EARNINGS, ME, ONE_CASE, type Operation, SYNC, TODAY } from "./operations.ts";
import { onOutboxChange, outbox } from "./outbox.ts";
import { ask, signedInAs, SignedOutError } from "./session.ts";
import { storedDay } from "./stored-day.ts";

/** A sync is skipped if the last one ended less than this time ago, unless something has changed. */
const FRESH_MS = 5 * 60_000;
const PERIODS = ["TODAY", "THIS_WEEK", "THIS_MONTH"] as const;

const changes = new EventTarget();

/** The day on this phone: the number of its cases, and when they were updated. */
export interface Day {
  readonly cases: number;
  /** Undefined until the first sync has ended: some cases may be missing. */
  readonly atMs: number | undefined;
}

/** Stores the field partner's cases on this phone, now and whenever they may have changed. */
export function startDay(): void {
  globalThis.addEventListener("online", () => void syncDay());
  document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && void syncDay());
  let wasOffline = !navigator.onLine;
  globalThis.addEventListener("offline", () => {
    wasOffline = true;
  });
  onOutboxChange(() => {
    // The work of the time without a network has been sent, so the amounts and statuses of its cases have changed.
    if (!wasOffline || !navigator.onLine || hasWaiting()) return;
    wasOffline = false;
    void syncDay({ evenIfFresh: true });
  });
  void syncDay();
}

/** Calls the listener whenever a page of cases was stored. */
export function onDayChange(listener: () => void, signal: AbortSignal): void {
  changes.addEventListener("change", listener, { signal });
}

export function currentDay(): Day {
  return { cases: keptVariables(ONE_CASE).length, atMs: storedDay.read()?.completeAtMs };
}

/** Returns the cases that are stored on this phone. */
export function storedCases(): WholeCase[] {
  return keptVariables(ONE_CASE).flatMap(
    (variables) => keptAnswer({ operation: ONE_CASE, variables })?.data.case ?? [],
  );
}

/**
 * Loads the cases that have changed since the last sync, and at the first time all cases. Continues where an interrupted
 * sync has stopped. Then loads the answers that the other screens need without a network. Never throws for a missing
 * network: the next call tries again.
 */
export function syncDay({ evenIfFresh = false } = {}): Promise<void> {
  return exclusively("day", async () => {
    const { completeAtMs = 0 } = storedDay.read() ?? {};
    if (signedInAs() === undefined || !navigator.onLine) return;
    if (!evenIfFresh && Date.now() - completeAtMs < FRESH_MS) return;
    try {
      if (await syncCases()) await loadOtherScreens();
    } catch (error) {
      if (!(error instanceof NoAnswerError || error instanceof SignedOutError)) throw error;
    }
  });
}

/** Returns false if the storage of the phone is full. Then nothing is stored. */
async function syncCases(): Promise<boolean> {
  for (let hasMore = true; hasMore;) {
    const before = storedDay.read();
    const page = await nextPage(before?.cursor);
    ({ hasMore } = page);
    const isStored = storePage(page, before?.seen ?? []);
    changes.dispatchEvent(new Event("change"));
    if (!isStored) return false;
  }
  return true;
}

/** Requests the next page. Starts again from the beginning if the stored cursor is too old. */
async function nextPage(cursor: string | undefined): Promise<SyncedCases> {
  try {
    return (await ask(SYNC, { since: cursor })).sync;
  } catch (error) {
    if (cursor === undefined || !(error instanceof RefusedRequestError) || error.code !== "BAD_INPUT") throw error;
    storedDay.forget();
    return (await ask(SYNC, {})).sync;
  }
}

/**
 * Stores a page. The cursor is stored last: if the app is closed before that, the page is requested again, and storing
 * it twice does no harm. Returns false if the storage of the phone is full.
 */
function storePage(page: SyncedCases, seenBefore: readonly string[]): boolean {
  const { cursor, hasMore, isFull, goneCaseIds, cases } = page;
  for (const id of goneCaseIds) forgetAnswer({ operation: ONE_CASE, variables: { id } });
  for (const one of cases) {
    if (!keepAnswer({ operation: ONE_CASE, variables: { id: one.id } }, { case: one })) return false;
  }
  const seen = isFull ? [...seenBefore, ...cases.map(({ id }) => id)] : [];
  if (isFull && !hasMore) forgetCasesExcept(new Set(seen));
  storedDay.write(hasMore ? { ...storedDay.read(), cursor, seen } : { cursor, completeAtMs: Date.now() });
  return true;
}

/** Removes the stored cases that a sync of everything has not returned. */
function forgetCasesExcept(seen: ReadonlySet<string>): void {
  for (const variables of keptVariables(ONE_CASE)) {
    if (!seen.has(variables["id"] as string)) forgetAnswer({ operation: ONE_CASE, variables });
  }
}

async function loadOtherScreens(): Promise<void> {
  await load(TODAY);
  await load(EARNING_LINES);
  await load(ME);
  for (const period of PERIODS) await load(EARNINGS, { period });
}

async function load<Data>(operation: Operation<Data>, variables: object = {}): Promise<void> {
  keepAnswer({ operation, variables }, await ask(operation, variables));
}

function hasWaiting(): boolean {
  return outbox().some(({ state }) => state === "waiting");
}
