import { decodeBase64 } from "../base64.ts";
import type { SignatureCause } from "./diagnose-cause.ts";
import type { DigestAlgorithm } from "../digest-algorithm.ts";

/** The signature that a client sent: its digest, and the mistakes in its notation. */
export interface ReceivedDigest {
  readonly digest: Uint8Array;
  readonly algorithm: DigestAlgorithm;
  readonly causes: readonly SignatureCause[];
}

const ALGORITHMS: ReadonlyMap<number, { algorithm: DigestAlgorithm; causes: readonly SignatureCause[] }> = new Map([
  [20, { algorithm: "sha1", causes: ["ALGORITHM_SHA1"] }],
  [32, { algorithm: "sha256", causes: [] }],
  [64, { algorithm: "sha512", causes: ["ALGORITHM_SHA512"] }],
]);

/**
 * A longer text is not a signature. The longest known notation, SHA-512 in hexadecimal with separators, is shorter than
 * this.
 */
const LONGEST_SIGNATURE = 256;

/**
 * A prefix of the signature: `0x`, or a word with `=` or `:`. The `=` at the end of a base64 text does not match, because
 * at least 27 characters must follow.
 */
const PREFIX = /^(?:0x|[a-z][\w.-]{0,31}[=:]\s*)(?=\S{27})/i;
const HEX = /^(?:[0-9a-f]{2})+$/i;
const SEPARATED_HEX = /^[0-9a-f]{2}(?:[-: ][0-9a-f]{2})+$/i;
const BASE64 = /^[\w+/-]+={0,2}$/;

/** Reads the digest of a signature. Returns undefined if the text is not a signature in any known notation. */
export function readSignature(signature: string): ReceivedDigest | undefined {
  const text = signature.trim();
  if (text.length > LONGEST_SIGNATURE) return undefined;
  const bare = text.replace(PREFIX, "");
  const prefix: SignatureCause[] = bare === text ? [] : ["SIGNATURE_WITH_PREFIX"];
  if (HEX.test(bare)) return received(hexBytes(bare), prefix);
  if (SEPARATED_HEX.test(bare)) {
    return received(hexBytes(bare.replaceAll(/[-: ]/g, "")), [...prefix, "SIGNATURE_WITH_SEPARATORS"]);
  }
  if (!BASE64.test(bare)) return undefined;
  const bytes = decodeBase64(bare);
  const digits = String.fromCharCode(...bytes);
  // Recognizes a client that encoded the hexadecimal text of the digest in base64. The bytes of a real digest are
  // practically never all hexadecimal digits in ASCII.
  if (HEX.test(digits)) return received(hexBytes(digits), [...prefix, "SIGNATURE_HEX_IN_BASE64"]);
  return received(bytes, [...prefix, "SIGNATURE_IN_BASE64"]);
}

function received(digest: Uint8Array, causes: readonly SignatureCause[]): ReceivedDigest | undefined {
  const known = ALGORITHMS.get(digest.length);
  return known && { digest, algorithm: known.algorithm, causes: [...known.causes, ...causes] };
}

function hexBytes(hex: string): Uint8Array {
  return Uint8Array.from(hex.match(/../g) ?? [], (digits) => Number.parseInt(digits, 16));
}
