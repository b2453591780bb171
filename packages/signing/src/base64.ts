const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const VALUES: ReadonlyMap<string, number> = new Map([
  ...Array.from(ALPHABET, (digit, value) => [digit, value] as const),
  ["-", 62],
  ["_", 63],
]);

/** Decodes standard and URL-safe base64 as lenient decoders do: skips other characters, and drops incomplete bytes. */
export function decodeBase64(text: string): Uint8Array {
  const bytes: number[] = [];
  let [bits, waiting] = [0, 0];
  for (const character of text) {
    const value = VALUES.get(character);
    if (value === undefined) continue;
    bits = ((bits << 6) | value) & 0xfff;
    waiting += 6;
    if (waiting < 8) continue;
    waiting -= 8;
    bytes.push((bits >> waiting) & 0xff);
  }
  return Uint8Array.from(bytes);
}
