import { newId } from "@collections/database";
import { currency } from "@collections/money";
import { bucketOf } from "../src/case/case-details.ts";
import type { Address } from "../src/fields/contact-readers.ts";
import { exampleCase } from "./example-case.ts";
import type { ImportedCase } from "../src/case/locked-case.ts";
import { CASE_SORTS, type CaseListRequest, type CaseSort } from "../src/list/own-cases.ts";
import { address, NOW } from "./portfolios-example.ts";
import { blockedReason } from "../src/list/workable.ts";

/** A case of the field partner, with the day of its open promise. */
export interface Held {
  readonly case: ImportedCase;
  readonly promisedOn: string | undefined;
}

export type Request = Omit<CaseListRequest, "first" | "after" | "lenders" | "dayAt" | "blockedLenderIds">;

export const ME = newId();
export const LENDERS = ["ACME", "BOLT", "CROW", "DUNE", "ECHO"].map((code) => ({ id: newId(), code }));
export const BLOCKED = [LENDERS[4]!.id];
const CASES_PER_LENDER = 14;
const SHRUNK_BY = new Date("2026-11-13T12:00:00Z");
const HERE = { latitude: 19, longitude: 72.8 };

/**
 * Returns the day in a lender's time zone. Half of the lenders are in Auckland, where it is already the next day when
 * it is noon in London.
 */
export function dayAt(lenderId: string, at: Date): string {
  const timeZone = LENDERS.findIndex(({ id }) => id === lenderId) % 2 === 0 ? "Europe/London" : "Pacific/Auckland";
  return at.toLocaleDateString("sv-SE", { timeZone });
}

export const NOON = new Date("2026-11-20T12:00:00Z");

/** The values by which the cases differ. Each list is short, so that many cases rank equally. */
const STATES: Partial<ImportedCase>[] = [
  {},
  { status: "in_progress", workBegun: true },
  { status: "on_hold", fieldWork: "blocked", blockedAt: NOW },
  { doNotContactUntil: "2026-11-21" },
  {},
  { status: "closed", closeReason: "withdrawn", closedAt: NOW },
  { status: "closed", closeReason: "withdrawn", closedAt: SHRUNK_BY },
  { status: "collected", closeReason: "paid_in_full", closedAt: NOW, outstandingMinor: 0n },
];
const DAYS = [null, 0, 7, 7, 30, 31, 90, 91];
const AMOUNTS = [100n, 100n, 500n, 90_000n];
const PLACES: Address[][] = [
  [],
  [address({ city: "Pune", postalCode: "411001", latitude: 19.1, longitude: 72.8 })],
  [address({ city: " PUNE ", postalCode: "411 002", latitude: 19.1, longitude: 72.8 })],
  [address({ city: "Mumbai" }), address({ city: "Pune", latitude: 19, longitude: 72.8 })],
  [address({ city: "Mumbai", postalCode: "400001", latitude: 18.5, longitude: -179.9 })],
];
const NAMES = ["Asha Rao", "Asha Patil", "100 % Traders"];
const PROMISES = [undefined, "2026-11-19", undefined, "2026-11-20", "2026-11-21", undefined, "2026-12-01"];

export const held: Held[] = LENDERS.flatMap(({ id: lenderId }, lender) =>
  Array.from({ length: CASES_PER_LENDER }, (_, index) => {
    const n = lender * CASES_PER_LENDER + index;
    const id = newId();
    const outstandingMinor = AMOUNTS[n % AMOUNTS.length]!;
    const own = { lenderId, id, status: "assigned", assignedFieldPartnerId: ME } as const;
    return {
      case: exampleCase({
        ...own,
        sourceLoanNumber: `LN-${n}-${n % 2 === 0 ? "x7" : "X8"}`,
        outstandingMinor,
        placedMinor: outstandingMinor,
        currency: currency(n % 3 === 0 ? "AED" : "INR"),
        dpd: DAYS[(n * 5) % DAYS.length]!,
        bucket: n % 11 === 0 ? "SPECIAL" : null,
        addresses: PLACES[(n * 3) % PLACES.length]!,
        borrowerName: NAMES[(n * 2) % NAMES.length]!,
        ...STATES[(n * 3 + lender) % STATES.length],
      }),
      promisedOn: PROMISES[(n * 4) % PROMISES.length],
    };
  }),
);

/** The parts of a request for a list of cases, each with the values to try. */
const PARTS: readonly (readonly Request[])[] = [
  [
    { filter: { statuses: ["assigned"] } },
    { filter: { statuses: ["closed", "collected"] } },
    { filter: { statuses: [] } },
  ],
  [{ filter: { buckets: ["1-30", "SPECIAL"] } }, { filter: { buckets: ["0"] } }],
  [
    { filter: { lenderCodes: ["BOLT"] } },
    { filter: { lenderCodes: ["ACME", "ECHO"] } },
    { filter: { lenderCodes: ["NONE"] } },
  ],
  [{ filter: { cities: ["pune"] } }, { filter: { cities: ["Mumbai", "Pune"] } }],
  [{ filter: { postalCodes: ["411002", "400 001"] } }],
  [
    { filter: { promiseDue: {} } },
    { filter: { promiseDue: { from: "2026-11-20" } } },
    { filter: { promiseDue: { to: "2026-11-20" } } },
    { filter: { promiseDue: { from: "2026-11-20", to: "2026-11-21" } } },
  ],
  [{ filter: { workable: true } }, { filter: { workable: false } }],
  [{ search: "asha" }, { search: "RAO asha" }, { search: "x8" }],
  [{ near: HERE }, { near: { ...HERE, radiusM: 20_000 } }, { near: { latitude: 18.5, longitude: 179.9 } }],
];

export const SINGLES = PARTS.flat();
const PAIRS = PARTS.flatMap((part, index) =>
  part.flatMap((first) =>
    PARTS.slice(index + 1)
      .flat()
      .map((second) => merged(first, second)),
  ),
);
/**
 * The requests for lists of cases to test: every part of a request alone with every sort, and every pair of parts with
 * one sort. With the environment variable LISTS=all, every pair is tested with every sort.
 */
export const REQUESTS: readonly Request[] = CASE_SORTS.flatMap((sort, order) => {
  const pairs = PAIRS.filter((_, index) => process.env["LISTS"] === "all" || index % CASE_SORTS.length === order);
  return [{}, ...SINGLES, ...pairs].map((request) => ({ sort, ...(sort === "near" && { near: HERE }), ...request }));
});

function merged(a: Request, b: Request): Request {
  return { ...a, ...b, ...((a.filter || b.filter) && { filter: { ...a.filter, ...b.filter } }) };
}

/** Computes the expected list in plain TypeScript, by the rules of the documentation. */
export function expected({ filter = {}, search = "", sort = "priority", near }: Request): readonly Held[] {
  const { statuses, buckets, lenderCodes, cities, postalCodes, promiseDue, workable } = filter;
  const words = search.toLowerCase().split(" ").filter(Boolean);
  const found = held.filter((one) => {
    const { case: it, promisedOn } = one;
    const [first] = it.addresses;
    const bucket = bucketOf(it);
    if (statuses && !statuses.includes(it.status)) return false;
    if (lenderCodes && !lenderCodes.includes(codeOf(it))) return false;
    if (workable !== undefined && workable !== isWorkable(it)) return false;
    const asksForDetails = buckets || cities || postalCodes || words.length > 0 || promiseDue || near?.radiusM;
    if (asksForDetails && isShrunk(it)) return false;
    if (buckets && (bucket === null || !buckets.includes(bucket))) return false;
    if (cities && !cities.some((city) => city.toLowerCase() === first?.city?.trim().toLowerCase())) return false;
    const postalCode = first?.postalCode?.replaceAll(" ", "");
    if (postalCodes && !postalCodes.some((code) => code.replaceAll(" ", "") === postalCode)) return false;
    if (promiseDue && (promisedOn === undefined || !isBetween(promisedOn, promiseDue))) return false;
    if (near?.radiusM !== undefined && !((distanceM(it, near) ?? Infinity) <= near.radiusM)) return false;
    const isNamed = words.every((word) => it.borrowerName.toLowerCase().includes(word));
    return isNamed || it.sourceLoanNumber.toLowerCase().endsWith(search.toLowerCase());
  });
  return found.toSorted((a, b) => {
    const [x, y] = [placeOf(a, sort, near), placeOf(b, sort, near)];
    if (x.group !== y.group) return x.group < y.group ? -1 : 1;
    return x.rank - y.rank || (a.case.id > b.case.id ? -1 : 1);
  });
}

function placeOf(one: Held, sort: CaseSort, near: Request["near"]): { group: string; rank: number } {
  const { case: it, promisedOn } = one;
  const byDays = isShrunk(it) || it.dpd === null ? 1 : -it.dpd;
  if (sort === "amount") return { group: it.currency, rank: isShrunk(it) ? 0 : -Number(it.outstandingMinor) };
  if (sort === "dpd") return { group: "", rank: byDays };
  if (sort === "near") {
    const metres = distanceM(it, near!);
    return metres === null ? { group: "2", rank: 0 } : { group: "1", rank: metres };
  }
  if (it.closedAt !== null) return { group: "5", rank: byDays };
  if (!isWorkable(it)) return { group: "4", rank: byDays };
  if (promisedOn === undefined) return { group: "2", rank: byDays };
  return { group: promisedOn <= dayAt(it.lenderId, NOON) ? "1" : "3", rank: byDays };
}

function codeOf({ lenderId }: ImportedCase): string {
  return LENDERS.find(({ id }) => id === lenderId)!.code;
}

export function isShrunk({ closedAt }: ImportedCase): boolean {
  return closedAt !== null && closedAt.getTime() <= NOON.getTime() - 7 * 24 * 60 * 60_000;
}

function isWorkable(it: ImportedCase): boolean {
  return !BLOCKED.includes(it.lenderId) && blockedReason(it, dayAt(it.lenderId, NOON)) === undefined;
}

function isBetween(
  day: string,
  { from = "0000-01-01", to = "9999-12-31" }: { from?: string | undefined; to?: string | undefined },
): boolean {
  return from <= day && day <= to;
}

/** Computes the distance by the haversine formula on a sphere, in whole metres. */
export function distanceM(it: ImportedCase, from: { latitude: number; longitude: number }): number | null {
  const [first] = it.addresses;
  if (isShrunk(it) || !first || first.latitude === null || first.longitude === null) return null;
  const radians = (degrees: number): number => (degrees * Math.PI) / 180;
  const h =
    Math.sin(radians(first.latitude - from.latitude) / 2) ** 2 +
    Math.cos(radians(from.latitude)) *
      Math.cos(radians(first.latitude)) *
      Math.sin(radians(first.longitude - from.longitude) / 2) ** 2;
  return Math.round(2 * 6_371_008.8 * Math.asin(Math.min(1, Math.sqrt(h))));
}

const visits = new Map<string, { id: string; at: Date }[]>();

/** Returns one to eight visits of a case. The visits come in pairs with the same time. */
export function visitsOf({ id }: ImportedCase): { id: string; at: Date }[] {
  const known = visits.get(id);
  if (known) return known;
  const count = 1 + (visits.size % 8);
  const made = Array.from({ length: count }, (_, n) => ({
    id: newId(),
    at: new Date(NOW.getTime() - Math.floor(n / 2) * 60_000),
  }));
  visits.set(id, made);
  return made;
}
