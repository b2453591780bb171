import { isDay } from "../fields/instant.ts";

/** One page of a list, in the list's order. */
export interface Page<Item> {
  readonly items: readonly Item[];
  /** Whether there is more after the last item. */
  readonly hasNext: boolean;
}

/** Which page of a list to read. */
export interface PageRequest {
  /** Items at most; 1 to 100. */
  readonly first: number;
  /** Cursor of the item before the page. */
  readonly after?: string | undefined;
}

/**
 * The cursor is not one that this list gave out.
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
    super("The cursor is not one of this list; start again without `after`.");
  }
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const MAX_PAGE = 100;
const DAY_CHARS = "2026-11-20".length;

/** Where an item stands in a list: its instant, when the list is by time, and its id. Opaque to whoever holds it. */
export function encodeCursor(position: { readonly at?: Date; readonly id: string }): string {
  return Buffer.from(`${position.at?.toISOString() ?? ""}/${position.id}`).toString("base64url");
}

/** The position that `encodeCursor` was given. Throws InvalidCursorError. */
export function decodeCursor(cursor: string): { readonly at?: Date; readonly id: string } {
  const [instant = "", id = ""] = Buffer.from(cursor, "base64url").toString().split("/");
  if (!UUID.test(id)) throw new InvalidCursorError();
  if (instant === "") return { id };
  const at = new Date(instant);
  // PostgreSQL reads no instant as far off as JavaScript does.
  if (!isDay(instant.slice(0, DAY_CHARS)) || Number.isNaN(at.getTime()) || at.toISOString() !== instant) {
    throw new InvalidCursorError();
  }
  return { at, id };
}

/** Reads one item more than asked for, to know whether there is a next page. */
export async function page<Item>(first: number, read: (limit: number) => Promise<Item[]>): Promise<Page<Item>> {
  const size = Math.min(Math.max(Math.trunc(first), 1), MAX_PAGE);
  const items = await read(size + 1);
  return { items: items.slice(0, size), hasNext: items.length > size };
}
