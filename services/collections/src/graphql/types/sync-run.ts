import { badInput } from "../plumbing/client-error.ts";

/** The kinds of rows that a sync returns. Rows of one kind are sorted by id. */
export const SYNC_KINDS = ["cases", "goneCases", "paymentLinks", "earningLines"] as const;

export type SyncKind = (typeof SYNC_KINDS)[number];

/** Where the next page of a kind starts: after an id, or at the beginning. `end` means that there is no next page. */
export type SyncPlace = { readonly after: string } | "beginning" | "end";

/** One sync: all pages from the first to the last. */
export interface SyncRun {
  /** When the first page was requested. The next sync starts from this time. */
  readonly startedAt: Date;
  /** The sync returns rows that changed after this time; null for all rows. */
  readonly since: Date | null;
  readonly places: { readonly [Kind in SyncKind]: SyncPlace };
}

/**
 * How far a sync looks back before the start of the previous sync. A row gets its time before its transaction commits,
 * by the clock of the process that writes it. So a row may become visible only after a sync, with a time from before
 * that sync. Transactions take seconds and clocks differ by seconds. Rows that changed within this overlap are returned
 * twice.
 */
const OVERLAP_MS = 15 * 60_000;

const DAY_MS = 24 * 60 * 60_000;
/** How long a cursor is valid. Gone cases are kept for one day longer. */
const KEPT_MS = 30 * DAY_MS;

const ID = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}";
const PLACE = `(\\^|\\$|${ID})`;
const CURSOR = new RegExp(`^(\\d{13})(?:/(\\d{13}|all)${`/${PLACE}`.repeat(SYNC_KINDS.length)})?$`);

/**
 * Returns the sync that the requested page belongs to. Begins a new sync without a cursor, and after the last page of a
 * sync. Throws BAD_INPUT.
 */
export function runOf(cursor: string | undefined, now: Date): SyncRun {
  if (cursor === undefined) return beginning(null, now);
  const [, startedMs, sinceMs, ...places] = CURSOR.exec(Buffer.from(cursor, "base64url").toString("latin1")) ?? [];
  if (startedMs === undefined)
    throw badInput("`since` is not the `cursor` of an earlier sync; start again without it.");
  const startedAt = new Date(Number(startedMs));
  const isTooOld = now.getTime() - startedAt.getTime() > KEPT_MS - OVERLAP_MS;
  if (sinceMs === undefined) return beginning(isTooOld ? null : new Date(startedAt.getTime() - OVERLAP_MS), now);
  if (isTooOld) throw badInput("This sync began too long ago; start again without `since`.");
  const since = sinceMs === "all" ? null : new Date(Number(sinceMs));
  const read = (index: number): SyncPlace => placeOf(places[index]!);
  return { startedAt, since, places: placesOf((_, index) => read(index)) };
}

/** Returns the cursor of the next page, or of the next sync if this page is the last. */
export function cursorOf({ startedAt, since, places }: SyncRun): string {
  const parts = [startedAt.getTime(), since?.getTime() ?? "all", ...SYNC_KINDS.map((kind) => textOf(places[kind]))];
  const text = isAtEnd(places) ? String(startedAt.getTime()) : parts.join("/");
  return Buffer.from(text).toString("base64url");
}

/** Whether all kinds are at their end, so that there is no next page. */
export function isAtEnd(places: SyncRun["places"]): boolean {
  return SYNC_KINDS.every((kind) => places[kind] === "end");
}

/**
 * Returns the time from which a sync returns gone cases, links and earnings. A full sync, whose `since` is null,
 * returns the links and earnings of the last 30 days.
 */
export function sinceForGood({ startedAt, since }: SyncRun): Date {
  return since ?? new Date(startedAt.getTime() - KEPT_MS);
}

function beginning(since: Date | null, now: Date): SyncRun {
  // A full sync returns no gone cases, because the app removes every case that a full sync does not return.
  const places = placesOf((kind) => (since === null && kind === "goneCases" ? "end" : "beginning"));
  return { startedAt: now, since, places };
}

function placesOf(placeOfKind: (kind: SyncKind, index: number) => SyncPlace): SyncRun["places"] {
  return Object.fromEntries(SYNC_KINDS.map((kind, index) => [kind, placeOfKind(kind, index)])) as SyncRun["places"];
}

function placeOf(text: string): SyncPlace {
  if (text === "^") return "beginning";
  return text === "$" ? "end" : { after: text };
}

function textOf(place: SyncPlace): string {
  if (place === "beginning") return "^";
  return place === "end" ? "$" : place.after;
}
