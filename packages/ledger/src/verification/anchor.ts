import assert from "node:assert/strict";
import type { AnchorKeys } from "./anchor-keys.ts";

/** The block that was the newest of a book's chain at the time of the anchor. */
export interface AnchoredHead {
  readonly book: string;
  readonly number: bigint;
  /** 64 hex digits. */
  readonly hash: string;
}

/**
 * The content of an anchor: the heads of hash chains at one time. An anchor is signed and kept outside the database, as
 * proof of what the ledger contained at that time.
 */
export interface Anchor {
  /** The deployment's name. */
  readonly environment: string;
  readonly at: Date;
  readonly heads: readonly AnchoredHead[];
}

/** An anchor that was read from a line. Its signature is not verified yet. */
export interface SignedAnchor {
  readonly anchor: Anchor;
  readonly keyId: string;
  readonly signature: string;
  /** The text that was signed. */
  readonly signedText: string;
}

/**
 * The JSON of an anchor's line. The format never changes, because old anchors must remain readable. For the same reason
 * the id of a book is named `lenderId`.
 */
interface AnchorJson {
  readonly version: 1;
  readonly environment: string;
  readonly at: string;
  readonly heads: readonly { readonly lenderId: string; readonly block: number; readonly hash: string }[];
  readonly keyId: string;
  readonly signature: string;
}

const LINE_START = `{"version":1,`;
/** The base64 of a signature's 64 bytes always ends with two equals signs. */
const LINE_END = `=="}`;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const HASH = /^[0-9a-f]{64}$/;
const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/** Returns the signed anchor as one line of JSON, without a newline at the end. */
export function anchorLine(anchor: Anchor, keys: AnchorKeys): string {
  const { environment, at, heads } = anchor;
  assert.ok(!/[\r\n]/.test(environment), "The name of an environment must not contain a line break.");
  const json: AnchorJson = {
    version: 1,
    environment,
    at: at.toISOString(),
    heads: heads.map(({ book, number, hash }) => ({ lenderId: book, block: Number(number), hash })),
    keyId: keys.keyId,
    signature: keys.sign(signedText(anchor)),
  };
  return JSON.stringify(json);
}

/**
 * Reads an anchor from its line. Returns `torn` for an incomplete line, which a process leaves if it is stopped while
 * it writes. Returns `unreadable` for any other line that is not an anchor.
 */
export function readAnchorLine(line: string): SignedAnchor | "torn" | "unreadable" {
  const json = parsed(line);
  if (json === undefined) return isTorn(line) ? "torn" : "unreadable";
  if (!isAnchorJson(json)) return "unreadable";
  const anchor: Anchor = {
    environment: json.environment,
    at: new Date(json.at),
    heads: json.heads.map(({ lenderId: book, block, hash }) => ({ book, number: BigInt(block), hash })),
  };
  return { anchor, keyId: json.keyId, signature: json.signature, signedText: signedText(anchor) };
}

/**
 * Returns the text to sign. Each fact is on its own line, so that an auditor can build the text in any language. The text
 * is unambiguous: no field contains a line break, and no field of a head contains a blank. The environment may contain
 * blanks, because it is alone on its line.
 */
function signedText({ environment, at, heads }: Anchor): string {
  const lines = heads.map(({ book, number, hash }) => `${book} ${number} ${hash}`);
  return ["ledger-anchor/1", environment, at.toISOString(), ...lines].join("\n");
}

function isTorn(line: string): boolean {
  return LINE_START.startsWith(line) || (line.startsWith(LINE_START) && !line.endsWith(LINE_END));
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

function isAnchorJson(value: unknown): value is AnchorJson {
  const { version, environment, at, heads, keyId, signature } = Object(value) as Partial<AnchorJson>;
  return (
    version === 1 &&
    [environment, keyId].every((text) => typeof text === "string" && !/[\r\n]/.test(text)) &&
    isSignature(signature) &&
    isMatch(at, INSTANT) &&
    !Number.isNaN(Date.parse(at)) &&
    Array.isArray(heads) &&
    heads.every((head: unknown) => {
      const { lenderId, block, hash } = Object(head) as Partial<AnchorJson["heads"][number]>;
      return isMatch(lenderId, UUID) && Number.isSafeInteger(block) && block! > 0 && isMatch(hash, HASH);
    })
  );
}

/** Accepts only the canonical base64 of 64 bytes, and rejects other texts that decode to the same bytes. */
function isSignature(value: unknown): boolean {
  return isMatch(value, /^[A-Za-z0-9+/]{86}==$/) && Buffer.from(value, "base64").toString("base64") === value;
}

function isMatch(value: unknown, pattern: RegExp): value is string {
  return typeof value === "string" && pattern.test(value);
}
