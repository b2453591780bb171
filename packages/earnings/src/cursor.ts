/**
 * Thrown for a text that is not a cursor returned by `earningLines`.
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
    super("The cursor is invalid: pass the cursor of an earning line unchanged.");
  }
}

/** The position of an earning in the list of earning lines. */
export interface EarningPosition {
  readonly earnedAt: Date;
  readonly id: string;
}

const POSITION = /^([0-9]{1,15}):([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;
/** The time in a cursor must be before this limit. PostgreSQL accepts the limit, and every earning is earlier. */
const END_MS = Date.UTC(2200, 0, 1);

/** Encodes a position as a cursor, which is opaque to clients. */
export function encodeCursor({ earnedAt, id }: EarningPosition): string {
  return Buffer.from(`${earnedAt.getTime()}:${id}`).toString("base64url");
}

/** Returns the position that a cursor encodes. Throws InvalidCursorError for any other text. */
export function decodeCursor(cursor: string): EarningPosition {
  const [, earnedMs, id] = POSITION.exec(Buffer.from(cursor, "base64url").toString("latin1")) ?? [];
  if (earnedMs === undefined || id === undefined || Number(earnedMs) >= END_MS) throw new InvalidCursorError();
  return { earnedAt: new Date(Number(earnedMs)), id };
}
