const BYTES = 16;
const TIME_BYTES = 6;

/** Returns the creation time of a version 7 UUID, in Unix milliseconds. */
export function madeAtMs(id: string): number {
  return Number.parseInt(id.replaceAll("-", "").slice(0, 2 * TIME_BYTES), 16);
}

/** Returns a version 7 UUID. Later UUIDs sort after earlier ones. `now` is in Unix milliseconds. */
export function uuid(now: number = Date.now()): string {
  const bytes = crypto.getRandomValues(new Uint8Array(BYTES));
  for (let index = 0; index < TIME_BYTES; index += 1) {
    bytes[index] = Math.floor(now / 2 ** (8 * (TIME_BYTES - 1 - index))) % 256;
  }
  bytes[6] = 0x70 | ((bytes[6] as number) & 0x0f);
  bytes[8] = 0x80 | ((bytes[8] as number) & 0x3f);
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}
