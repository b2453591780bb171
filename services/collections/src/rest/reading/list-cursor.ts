import { createHash } from "node:crypto";
import type { ParameterReading } from "./query-parameters.ts";

/** The name of the list, the lender, and the values of the filters as they were read. A cursor is valid only with them. */
export type CursorOwner = readonly unknown[];

const FINGERPRINT_BYTES = 8;
const CURSOR_BYTES = FINGERPRINT_BYTES + 16;
const CURSOR = /^[\w-]{32}$/;

/** Returns the cursor of a list that continues after `id`. It is opaque to clients, and valid only with the same owner. */
export function encodeCursor(owner: CursorOwner, id: string): string {
  return Buffer.concat([fingerprintOf(owner), Buffer.from(id.replaceAll("-", ""), "hex")]).toString("base64url");
}

/** Returns the id in a cursor that was made for this owner. */
export function readCursor(owner: CursorOwner, text: string): ParameterReading<string> {
  const bytes = CURSOR.test(text) ? Buffer.from(text, "base64url") : Buffer.alloc(0);
  if (bytes.length !== CURSOR_BYTES)
    return { code: "INVALID_ENUM", words: "takes the nextCursor of the previous page" };
  if (!bytes.subarray(0, FINGERPRINT_BYTES).equals(fingerprintOf(owner))) {
    const words = "belongs to another list; repeat the parameters of the first page, or start again without cursor";
    return { code: "INVALID_ENUM", words };
  }
  const hex = bytes.toString("hex", FINGERPRINT_BYTES);
  return { value: [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-") };
}

function fingerprintOf(owner: CursorOwner): Buffer {
  return createHash("sha256").update(JSON.stringify(owner)).digest().subarray(0, FINGERPRINT_BYTES);
}
