import { isDay } from "../fields/instant.ts";

/** One page of a list, in the order of the list. */
export interface Page<Item> {
  readonly items: readonly Item[];
  /** Whether the list has more items after this page. */
  readonly hasNext: boolean;
}

/** A request for one page of a list. */
export interface PageRequest {
  /** The maximum number of items, 1 to 100. */
  readonly first: number;
  /** The cursor of the item before the page. */
  readonly after?: string | undefined;
}

/**
 * The cursor does not come from this list.
 *
 * @example
 * try {
 *   await visitsOfCase(em, { lenderId, caseId }, { first: 20, after: "yesterday" });
 * } catch (error) {
 *   if (!(error instanceof InvalidCursorError)) throw error;
 * }
 */
export class InvalidCursorError extends Error {
  override readonly name = "InvalidCursorError";
  readonly code = "INVALID_CURSOR";

  constructor() {
    super("The cursor does not come from this list; start again without `after`.");
  }
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const MAX_PAGE = 100;
const DAY_CHARS = "2026-11-20".length;

/**
 * Encodes the position of an item: its id, and its time if the list is ordered by time. The cursor is opaque to
 * clients.
 */
export function encodeCursor(position: { readonly at?: Date; readonly id: string }): string {
  return Buffer.from(`${position.at?.toISOString() ?? ""}/${position.id}`).toString("base64url");
}

/** Decodes a cursor of `encodeCursor`. Throws InvalidCursorError. */
export function decodeCursor(cursor: string): { readonly at?: Date; readonly id: string } {
  const [instant = "", id = ""] = Buffer.from(cursor, "base64url").toString().split("/");
  if (!UUID.test(id)) throw new InvalidCursorError();
  if (instant === "") return { id };
  const at = new Date(instant);
  // JavaScript accepts years that PostgreSQL does not, so `isDay` limits them.
  if (!isDay(instant.slice(0, DAY_CHARS)) || Number.isNaN(at.getTime()) || at.toISOString() !== instant) {
    throw new InvalidCursorError();
  }
  return { at, id };
}

/** Reads a page. It reads one item more than requested, to know whether there is a next page. */
export async function page<Item>(first: number, read: (limit: number) => Promise<Item[]>): Promise<Page<Item>> {
  const size = Math.min(Math.max(Math.trunc(first), 1), MAX_PAGE);
  const items = await read(size + 1);
  return { items: items.slice(0, size), hasNext: items.length > size };
}
