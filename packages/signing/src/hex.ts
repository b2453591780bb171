const SIGNATURE = /^[0-9a-fA-F]{64}$/;
const SIGNATURE_BYTES = 32;
const HEX_OF_BYTE = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

/** Writes bytes as lower-case hex. */
export function toHex(bytes: Uint8Array): string {
  let hex = "";
  for (const byte of bytes) hex += HEX_OF_BYTE[byte];
  return hex;
}

/** Reads the 32 bytes of a signature in hex of either case. Returns undefined unless the text is exactly 64 hex digits. */
export function signatureBytes(hex: string): Uint8Array | undefined {
  if (!SIGNATURE.test(hex)) return undefined;
  const bytes = new Uint8Array(SIGNATURE_BYTES);
  for (let index = 0; index < SIGNATURE_BYTES; index += 1) {
    bytes[index] = (hexDigit(hex.charCodeAt(index * 2)) << 4) | hexDigit(hex.charCodeAt(index * 2 + 1));
  }
  return bytes;
}

// Returns the value of a hex digit from its ASCII code. For 0 to 9, the low four bits of the code are the value. For A
// to F and a to f, the low four bits count from 1, so 9 is added. Only letters have bit 6 set.
function hexDigit(charCode: number): number {
  return (charCode & 15) + (charCode >> 6) * 9;
}
