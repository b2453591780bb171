import { badInput } from "../plumbing/client-error.ts";

/** What a sync brings, each kind in the order of its ids. */
export const SYNC_KINDS = ["cases", "goneCases", "paymentLinks", "earningLines"] as const;

export type SyncKind = (typeof SYNC_KINDS)[number];

/** Where a kind goes on: behind an id, from its beginning, or nowhere. */
export type SyncPlace = { readonly after: string } | "beginning" | "end";

/** One sync, from its first page to its last. */
export interface SyncRun {
  /** When the first page was asked for: the next sync looks from here, whatever happened between the pages. */
  readonly startedAt: Date;
  /** Since when; null for everything. */
  readonly since: Date | null;
  readonly places: { readonly [Kind in SyncKind]: SyncPlace };
}

/**
 * How far a sync looks back behind the start of the one before. The time of a row is taken before its transaction
 * commits, by the clock of the process that writes it: a row may appear after a sync has looked, with a time from before
 * it. Transactions take seconds and clocks differ by seconds; what changed in these minutes comes twice instead.
 */
const OVERLAP_MS = 15 * 60_000;

const DAY_MS = 24 * 60 * 60_000;
/** What was lost is remembered for a day longer. */
const KEPT_MS = 30 * DAY_MS;

const ID = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}";
const PLACE = `(\\^|\\$|${ID})`;
const CURSOR = new RegExp(`^(\\d{13})(?:/(\\d{13}|all)${`/${PLACE}`.repeat(SYNC_KINDS.length)})?$`);

/** The run that a page belongs to: the one of its cursor, or the next. Pure. Throws BAD_INPUT. */
export function runOf(cursor: string | undefined, now: Date): SyncRun {
  if (cursor === undefined) return beginning(null, now);
  const [, startedMs, sinceMs, ...places] = CURSOR.exec(Buffer.from(cursor, "base64url").toString("latin1")) ?? [];
  if (startedMs === undefined) throw badInput("`since` is the `cursor` of a sync before; start again without it.");
  const startedAt = new Date(Number(startedMs));
  const isTooOld = now.getTime() - startedAt.getTime() > KEPT_MS - OVERLAP_MS;
  if (sinceMs === undefined) return beginning(isTooOld ? null : new Date(startedAt.getTime() - OVERLAP_MS), now);
  if (isTooOld) throw badInput("This sync began too long ago; start again without `since`.");
  const since = sinceMs === "all" ? null : new Date(Number(sinceMs));
  const read = (index: number): SyncPlace => placeOf(places[index]!);
  return { startedAt, since, places: placesOf((_, index) => read(index)) };
}

/** The `since` of the next page; or, once there is none, of the next sync. */
export function cursorOf({ startedAt, since, places }: SyncRun): string {
  const parts = [startedAt.getTime(), since?.getTime() ?? "all", ...SYNC_KINDS.map((kind) => textOf(places[kind]))];
  const text = isAtEnd(places) ? String(startedAt.getTime()) : parts.join("/");
  return Buffer.from(text).toString("base64url");
}

/** Whether there is no next page. */
export function isAtEnd(places: SyncRun["places"]): boolean {
  return SYNC_KINDS.every((kind) => places[kind] === "end");
}

/** Links and earnings are for good: of all of them a first sync brings those of the last days. */
export function sinceForGood({ startedAt, since }: SyncRun): Date {
  return since ?? new Date(startedAt.getTime() - KEPT_MS);
}

function beginning(since: Date | null, now: Date): SyncRun {
  // Who has nothing has nothing to lose.
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
