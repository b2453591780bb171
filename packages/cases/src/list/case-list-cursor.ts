import { createHash } from "node:crypto";
import { InvalidCursorError } from "./page.ts";

/**
 * The cursor comes from a list with another sort, filter, search or place.
 *
 * @example
 * const list = { lenders: [], dayAt: (_lenderId: string, at: Date) => at.toISOString().slice(0, 10), first: 20 };
 * const { items } = await casesOfFieldPartner(em, fieldPartnerId, { ...list, sort: "dpd" });
 * const other = { ...list, sort: "amount", after: items.at(-1)?.cursor } as const;
 * await casesOfFieldPartner(em, fieldPartnerId, other).catch((error: unknown) => {
 *   if (error instanceof CursorOfAnotherListError) console.error("Start again without `after`.");
 *   throw error;
 * });
 */
export class CursorOfAnotherListError extends Error {
  override readonly name = "CursorOfAnotherListError";
  readonly code = "CURSOR_OF_ANOTHER_LIST";

  constructor() {
    super("The cursor belongs to a list with another sort, filter, search or place; start again without it.");
  }
}

/** The position of a case in a sorted list: the values that it was sorted by, in the order of the sort. */
export interface ListPosition {
  readonly group: string;
  readonly rank: bigint;
  readonly id: string;
}

/**
 * A position in a list, and the time when the first page was read. On all pages, ranks that depend on the day are
 * computed for that time.
 */
export interface ListCursor {
  readonly listedAt: Date;
  readonly position: ListPosition;
}

const CURSOR =
  /^([0-9a-f]{16})\/(\d{1,14})\/([A-Z0-9]{0,3})\/(-?\d{1,18})\/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;
const FINGERPRINT_CHARS = 16;

/** Returns a short hash of a list request. Each cursor contains it, so that a cursor of another request is detected. */
export function listFingerprint(asked: unknown): string {
  return createHash("sha256").update(JSON.stringify(asked)).digest("hex").slice(0, FINGERPRINT_CHARS);
}

/** Encodes a cursor that is valid only for lists with this fingerprint. It is opaque to clients. */
export function encodeListCursor(fingerprint: string, { listedAt, position }: ListCursor): string {
  const { group, rank, id } = position;
  return Buffer.from([fingerprint, listedAt.getTime(), group, rank, id].join("/")).toString("base64url");
}

/** Decodes a cursor of `encodeListCursor`. Throws InvalidCursorError and CursorOfAnotherListError. */
export function decodeListCursor(fingerprint: string, cursor: string): ListCursor {
  const parts = CURSOR.exec(Buffer.from(cursor, "base64url").toString("latin1"));
  if (parts === null) throw new InvalidCursorError();
  const [, ofList, listedAtMs, group, rank, id] = parts as unknown as [string, string, string, string, string, string];
  if (ofList !== fingerprint) throw new CursorOfAnotherListError();
  return { listedAt: new Date(Number(listedAtMs)), position: { group, rank: BigInt(rank), id } };
}
