import { HEADERS, type RequestToDiagnose, requestDescribed, type SecretsToTry } from "@collections/signing";
import { headerOf, headersIn } from "./pasted-request.ts";

/** The content of the debugger's fields. */
export interface Fields {
  readonly method: string;
  readonly path: string;
  readonly timestamp: string;
  readonly signature: string;
  /** One header per line: `Host: api.example`. */
  readonly headers: string;
  readonly body: { readonly text: string } | { readonly base64: string } | { readonly file: Uint8Array | undefined };
  readonly secret: string;
  /** One secret per line. */
  readonly otherSecrets: string;
}

export type FieldName = Exclude<keyof Fields, "headers" | "otherSecrets">;

/** A field that cannot be used, and what to do about it. */
export interface FieldFault {
  readonly field: FieldName;
  readonly detail: string;
}

export type Asked =
  | { readonly ok: true; readonly request: RequestToDiagnose; readonly secrets: SecretsToTry }
  | { readonly ok: false; readonly faults: readonly FieldFault[] };

/**
 * Returns the request and the secrets from the fields, or the faults of the fields. If the field of the timestamp or of
 * the signature is empty, the value is taken from the headers.
 */
export function askedIn(fields: Fields): Asked {
  const headers = headersIn(fields.headers.split("\n"));
  const described = {
    method: fields.method.trim(),
    path: fields.path.trim(),
    timestamp: fields.timestamp.trim() || (headerOf(headers, HEADERS.timestamp) ?? ""),
    signature: fields.signature.trim() || (headerOf(headers, HEADERS.signature) ?? ""),
  };
  const body = bytesOf(fields.body);
  const secret = fields.secret.trim();
  const faults = [
    ...missing("method", described.method, "Such as GET or POST."),
    ...missing("path", described.path, "The path of the request, such as /api/v1/partner/health."),
    ...missing("timestamp", described.timestamp, `The value of the header ${HEADERS.timestamp}.`),
    ...missing("signature", described.signature, `The value of the header ${HEADERS.signature}.`),
    ...(typeof body === "string" ? [{ field: "body" as const, detail: body }] : []),
    ...missing("secret", secret, "The secret of the key. It stays on this page."),
  ];
  if (typeof body === "string" || faults.length > 0) return { ok: false, faults };
  const [, keyId] = /^Bearer (.+)$/i.exec(headerOf(headers, "Authorization") ?? "") ?? [];
  return {
    ok: true,
    request: requestDescribed({ ...described, body, headers }),
    secrets: { secret, ...(keyId !== undefined && { keyId }), others: othersIn(fields.otherSecrets) },
  };
}

function missing(field: FieldName, value: string, detail: string): FieldFault[] {
  return value === "" ? [{ field, detail }] : [];
}

/** Returns the bytes of the body, or a text that says what is wrong with it. */
function bytesOf(body: Fields["body"]): Uint8Array | string {
  if ("text" in body) return new TextEncoder().encode(body.text);
  if ("file" in body) return body.file ?? "Choose the file that contains the body.";
  try {
    return Uint8Array.from(atob(body.base64.replaceAll(/\s/g, "")), (character) => character.charCodeAt(0));
  } catch {
    return "This is not base64.";
  }
}

function othersIn(lines: string): { keyId: string; secret: string }[] {
  const secrets = lines.split("\n").map((line) => line.trim());
  return secrets.flatMap((secret, index) => (secret === "" ? [] : [{ keyId: `in line ${index + 1}`, secret }]));
}
