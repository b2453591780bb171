/** Headers that frame or route the message: whoever sets one of these could change what is sent, or to whom. */
const RESERVED_NAMES = new Set([
  "connection",
  "content-length",
  "expect",
  "host",
  "keep-alive",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/** Longest header value we accept from anybody. */
export const MAX_HEADER_VALUE_CHARS = 4096;

/** Whether a request may carry a header, or a sentence for the person who chose it. */
export type HeaderVerdict = { ok: true } | { ok: false; reason: string };

/**
 * Whether a request may carry this header, for one that somebody else chose (a lender's registered auth header).
 * `reason` never repeats the value: it is usually a secret.
 *
 * @example
 * const verdict = checkHeader(authHeader.name, authHeader.value);
 * if (!verdict.ok) throw new TypeError(verdict.reason);
 */
export function checkHeader(name: string, value: string): HeaderVerdict {
  if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$/.test(name)) return refuse("The header's name is not a valid token.");
  if (RESERVED_NAMES.has(name.toLowerCase())) return refuse(`The header ${name} cannot be set.`);
  if (value.length > MAX_HEADER_VALUE_CHARS) {
    return refuse(`The value of ${name} is longer than ${MAX_HEADER_VALUE_CHARS} characters.`);
  }
  if (!/^[\x20-\x7e]+$/.test(value) || value.trim() !== value) {
    return refuse(`The value of ${name} must be printable ASCII without spaces at its ends.`);
  }
  return { ok: true };
}

function refuse(reason: string): HeaderVerdict {
  return { ok: false, reason };
}
