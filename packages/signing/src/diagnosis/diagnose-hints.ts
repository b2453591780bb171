import { readingOf } from "./diagnose-body.ts";
import type { SignatureCause } from "./diagnose-cause.ts";
import { readSignature } from "./diagnose-signature.ts";
import { unitCause } from "./diagnose-timestamp.ts";
import { COMPACT, jsonText } from "./json-tokens.ts";
import type { RequestToVerify } from "../signature.ts";

/** A body that is larger than this is not examined for mistakes. */
const MAX_BODY_BYTES = 64 * 1024;

/**
 * Lists the likely mistakes, the likeliest first, for a signature that no known mistake reproduces. The list depends
 * only on the caller's request, never on a secret.
 */
export function suspicions(request: Omit<RequestToVerify, "secret" | "body"> & { body: Uint8Array }): SignatureCause[] {
  return [
    ...ofSignature(request.signature),
    ...ofTimestamp(request.timestamp),
    ...(request.path.includes("?") ? (["QUERY_STRING_SIGNED"] as const) : []),
    ...(request.path.includes("%") ? (["PATH_DECODED"] as const) : []),
    ...ofBody(request.body),
    "SECRET_OF_ANOTHER_KEY",
  ];
}

function ofSignature(signature: string): readonly SignatureCause[] {
  return readSignature(signature)?.causes ?? ["SIGNATURE_NOT_RECOGNISED"];
}

function ofTimestamp(timestamp: string): readonly SignatureCause[] {
  const unit = unitCause(timestamp);
  if (unit !== undefined) return [unit];
  return /^[0-9]+$/.test(timestamp) ? [] : ["TIMESTAMP_AS_DATE"];
}

function ofBody(body: Uint8Array): readonly SignatureCause[] {
  if (body.length > MAX_BODY_BYTES) return [];
  const { text, tokens } = readingOf(body);
  if (text === undefined || text === "") return [];
  if (text.startsWith("\uFEFF")) return ["BODY_WITHOUT_BOM"];
  if (text.includes("\r\n")) return ["BODY_LF"];
  if (text.endsWith("\n")) return ["BODY_WITHOUT_TRAILING_NEWLINE"];
  const json = tokens();
  if (!json) return [];
  return jsonText(json, COMPACT) === text ? ["BODY_SPACED_SEPARATORS"] : ["BODY_COMPACT"];
}
