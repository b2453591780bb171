import { randomBytes } from "node:crypto";

/**
 * Returns a UUIDv7, like the service's ids. Ids of another kind would be inserted into the indexes in another order.
 */
export function timeOrderedId(nowMs: number): string {
  const bytes = randomBytes(16);
  bytes.writeUIntBE(nowMs, 0, 6);
  bytes[6] = (bytes[6]! & 0x0f) | 0x70;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  return bytes.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}
