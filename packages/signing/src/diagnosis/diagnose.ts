import { bodyMistakes } from "./diagnose-body.ts";
import { remedyFor, type SignatureCause } from "./diagnose-cause.ts";
import { suspicions } from "./diagnose-hints.ts";
import { messageMistakes } from "./diagnose-message.ts";
import { pathMistakes } from "./diagnose-path.ts";
import type { Mistake, Recipe } from "./diagnose-recipe.ts";
import { findMistakes, Work } from "./diagnose-search.ts";
import { secretMistakes, type SecretsToTry } from "./diagnose-secret.ts";
import { type ReceivedDigest, readSignature } from "./diagnose-signature.ts";
import { farTimestampMistakes, timestampMistakes, unitCause, unitFix } from "./diagnose-timestamp.ts";
import { canonicalSha256, canonicalString, sha256Hex, type SignedRequest, verify } from "../signature.ts";
import { checkTimestamp } from "../timestamp.ts";

/** A request as it was sent, with the signature that came with it. */
export interface RequestToDiagnose extends SignedRequest {
  readonly signature: string;
  /** The Host header: some sign it. */
  readonly host?: string;
  /** A timestamp that the client says to have signed, where that is not the one it sent. */
  readonly signedTimestamp?: string;
}

/** One thing that is wrong. `certain` means: made on purpose, it gives the caller's own signature. */
export interface Finding {
  readonly cause: SignatureCause;
  readonly certain: boolean;
  /** What to do, in a sentence or two. */
  readonly fix: string;
}

/** What is to be said about a signature. No signature but the caller's own can be learned from it. */
export interface Diagnosis {
  readonly signatureMatches: boolean;
  /** The text that has to be signed. Bytes that are no UTF-8 show as U+FFFD. */
  readonly canonicalString: string;
  readonly canonicalSha256: string;
  readonly bodyBytes: number;
  readonly bodySha256: string;
  readonly clock: {
    readonly serverTime: string;
    /** `now` minus the timestamp; null where that is no number. */
    readonly skewMs: number | null;
    readonly withinTolerance: boolean;
  };
  /** What is certain, alone; or else what may be, the likeliest first. A pair of mistakes is two entries. */
  readonly diagnosis: readonly Finding[];
  /** How much was tried; not `complete` when a large body left no room for everything. */
  readonly search: { readonly signatures: number; readonly bytes: number; readonly complete: boolean };
}

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/**
 * Finds out which mistake, or which two, made a wrong signature: it makes every known mistake on purpose, until one
 * gives the very signature that was sent. A pure search, of at most `MAX_SIGNATURES_TRIED` signatures.
 * Throws EmptySecretError. contract: Signature debugger
 *
 * @example
 * const request = { method: "POST", path: "/hooks/collections", timestamp, body, signature };
 * const { signatureMatches, diagnosis } = diagnose(request, { secret, keyId: "lk_sandbox_7f3a" }, Date.now());
 * if (!signatureMatches) for (const { cause, certain, fix } of diagnosis) console.log(cause, certain, fix);
 */
export function diagnose(request: RequestToDiagnose, secrets: SecretsToTry, nowMs: number): Diagnosis {
  const body = typeof request.body === "string" ? encoder.encode(request.body) : request.body.slice();
  const sent = { ...request, body };
  const signatureMatches = verify({ ...sent, secret: secrets.secret });
  const work = new Work();
  const certain = signatureMatches ? [] : explanation(sent, secrets, work);
  return {
    signatureMatches,
    canonicalString: decoder.decode(canonicalString(sent)),
    canonicalSha256: canonicalSha256(sent),
    bodyBytes: body.length,
    bodySha256: sha256Hex(body),
    clock: clockOf(sent.timestamp, nowMs),
    diagnosis: certain ? withUnit(sent.timestamp, certain) : guesses(sent),
    search: { signatures: work.signatures, bytes: work.bytes, complete: work.complete },
  };
}

type SentRequest = RequestToDiagnose & { readonly body: Uint8Array };

/** What is certain, or undefined when no mistake reproduces the signature. */
function explanation(request: SentRequest, secrets: SecretsToTry, work: Work): Finding[] | undefined {
  const received = readSignature(request.signature);
  if (!received) return undefined;
  const right = rightRecipe(request, secrets.secret);
  const far = farTimestampMistakes(request.timestamp);
  const found = findMistakes(received, right, mistakesIn(request, secrets), far, work);
  return found && findingsOf(received, found);
}

function rightRecipe({ method, path, timestamp, body }: SentRequest, secret: string): Recipe {
  return {
    secret,
    method: method.toUpperCase(),
    path: path.split("?", 1)[0] as string,
    query: "",
    timestamp,
    body,
    separator: "\n",
    ending: "separator",
    scheme: "hmac",
  };
}

function mistakesIn(request: SentRequest, secrets: SecretsToTry): Mistake[] {
  const { path, body, timestamp, signedTimestamp, host } = request;
  const query = path.includes("?") ? path.slice(path.indexOf("?")) : "";
  return [
    ...timestampMistakes(timestamp, signedTimestamp),
    ...pathMistakes(query, host),
    ...bodyMistakes(body.length === 0),
    ...secretMistakes(secrets),
    ...messageMistakes(body.length > 0),
  ];
}

function findingsOf({ causes }: ReceivedDigest, mistakes: readonly Mistake[]): Finding[] {
  return [
    ...mistakes.map(({ cause, fix = remedyFor(cause) }) => ({ cause, certain: true, fix })),
    ...causes.map((cause) => ({ cause, certain: true, fix: remedyFor(cause) })),
  ];
}

/** Seconds that are both signed and sent spoil no signature, and yet no request with them is accepted. */
function withUnit(timestamp: string, findings: readonly Finding[]): readonly Finding[] {
  const cause = unitCause(timestamp);
  if (cause === undefined || findings.some((finding) => finding.cause === cause)) return findings;
  return [{ cause, certain: true, fix: unitFix(timestamp) }, ...findings];
}

function guesses(request: SentRequest): Finding[] {
  return suspicions(request).map((cause) => {
    const fix = cause === unitCause(request.timestamp) ? unitFix(request.timestamp) : remedyFor(cause);
    return { cause, certain: false, fix };
  });
}

function clockOf(timestamp: string, nowMs: number): Diagnosis["clock"] {
  const verdict = checkTimestamp(timestamp, nowMs);
  const serverTime = new Date(nowMs).toISOString();
  return { serverTime, skewMs: verdict.skewMs ?? null, withinTolerance: verdict.ok };
}
