const SIGNATURE = /^[0-9a-fA-F]{64}$/;

/** Bytes as lower-case hex. */
export function toHex(bytes: Uint8Array): string {
  let hex = "";
  for (const byte of bytes) hex += byte.toString(16).padStart(2, "0");
  return hex;
}

/** The 32 bytes of a signature in hex of either case; undefined for anything but exactly 64 hex digits. */
export function signatureBytes(hex: string): Uint8Array | undefined {
  if (!SIGNATURE.test(hex)) return undefined;
  return Uint8Array.from({ length: 32 }, (_, index) => Number.parseInt(hex.slice(index * 2, index * 2 + 2), 16));
}
