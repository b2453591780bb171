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

/** A request as it was sent, with its signature. */
export interface RequestToDiagnose extends SignedRequest {
  readonly signature: string;
  /** The Host header, because some clients sign it by mistake. */
  readonly host?: string;
  /** The timestamp that the client says it has signed, if it differs from the one that was sent. */
  readonly signedTimestamp?: string;
}

/** One mistake. `certain` means that the mistake reproduces the caller's signature. */
export interface Finding {
  readonly cause: SignatureCause;
  readonly certain: boolean;
  /** How to correct the mistake, in one or two sentences. */
  readonly fix: string;
}

/** The result of `diagnose`. It reveals no signature other than the caller's own. */
export interface Diagnosis {
  readonly signatureMatches: boolean;
  /** The text that has to be signed. Bytes that are not UTF-8 are shown as U+FFFD. */
  readonly canonicalString: string;
  readonly canonicalSha256: string;
  readonly bodyBytes: number;
  readonly bodySha256: string;
  readonly clock: {
    readonly serverTime: string;
    /** The present time minus the timestamp; null if the timestamp is not a number. */
    readonly skewMs: number | null;
    readonly withinTolerance: boolean;
  };
  /** The certain mistakes; if there are none, the possible ones, the likeliest first. One entry for each mistake. */
  readonly diagnosis: readonly Finding[];
  /** The size of the search. `complete` is false if the body was too large to try everything. */
  readonly search: { readonly signatures: number; readonly bytes: number; readonly complete: boolean };
}

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/**
 * Finds the one or two mistakes that caused a wrong signature. It signs the request with each known mistake until a
 * signature equals the one that was sent, and computes at most `MAX_SIGNATURES_TRIED` signatures.
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

/** Returns the certain findings, or undefined if no mistake reproduces the signature. */
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

/**
 * Adds a finding if the timestamp is in a wrong unit. If the same timestamp is signed and sent, the signature matches,
 * but the request is rejected.
 */
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
