const SIGNATURE = /^[0-9a-fA-F]{64}$/;
const SIGNATURE_BYTES = 32;
const HEX_OF_BYTE = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

/** Bytes as lower-case hex. */
export function toHex(bytes: Uint8Array): string {
  let hex = "";
  for (const byte of bytes) hex += HEX_OF_BYTE[byte];
  return hex;
}

/** The 32 bytes of a signature in hex of either case; undefined for anything but exactly 64 hex digits. */
export function signatureBytes(hex: string): Uint8Array | undefined {
  if (!SIGNATURE.test(hex)) return undefined;
  const bytes = new Uint8Array(SIGNATURE_BYTES);
  for (let index = 0; index < SIGNATURE_BYTES; index += 1) {
    bytes[index] = (hexDigit(hex.charCodeAt(index * 2)) << 4) | hexDigit(hex.charCodeAt(index * 2 + 1));
  }
  return bytes;
}

// Letters of either case have bit 6 set and count from 1 in their low four bits; digits count from 0.
function hexDigit(charCode: number): number {
  return (charCode & 15) + (charCode >> 6) * 9;
}
