/**
 * The text is not a cursor that `earningLines` gave.
 *
 * @example
 * try {
 *   return await earningLines(em, fieldPartnerId, { first: 20, after: cursorOfClient });
 * } catch (error) {
 *   if (error instanceof InvalidCursorError) return { code: error.code, detail: error.message };
 *   throw error;
 * }
 */
export class InvalidCursorError extends Error {
  override readonly name = "InvalidCursorError";
  readonly code = "INVALID_CURSOR";

  constructor() {
    super("Not a cursor of an earning line: pass the one that came with a line, unchanged.");
  }
}

/** A place in the list of earning lines. */
export interface Place {
  readonly earnedAt: Date;
  readonly id: string;
}

const PLACE = /^([0-9]{1,15}):([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;
/** Later than any earning, and early enough for PostgreSQL. */
const END_MS = Date.UTC(2200, 0, 1);

/** A place as clients carry it, opaque to them. */
export function encodeCursor({ earnedAt, id }: Place): string {
  return Buffer.from(`${earnedAt.getTime()}:${id}`).toString("base64url");
}

/** The place of a cursor. Throws InvalidCursorError. */
export function decodeCursor(cursor: string): Place {
  const [, earnedMs, id] = PLACE.exec(Buffer.from(cursor, "base64url").toString("latin1")) ?? [];
  if (earnedMs === undefined || id === undefined || Number(earnedMs) >= END_MS) throw new InvalidCursorError();
  return { earnedAt: new Date(Number(earnedMs)), id };
}
