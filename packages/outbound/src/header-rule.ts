/** Headers that delimit or route the message. They could change what is sent, or to which host. */
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

/** The longest header value that is accepted. */
export const MAX_HEADER_VALUE_CHARS = 4096;

/** Whether a request may have a header; if not, a sentence for the person who chose the header. */
export type HeaderVerdict = { ok: true } | { ok: false; reason: string };

/**
 * Checks a header that the operator did not choose, such as a lender's registered auth header. `reason` never contains
 * the value, because it is usually a secret.
 *
 * @example
 * const verdict = checkHeader(authHeader.name, authHeader.value);
 * if (!verdict.ok) throw new TypeError(verdict.reason);
 */
export function checkHeader(name: string, value: string): HeaderVerdict {
  if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$/.test(name)) return reject("The header's name is not a valid token.");
  if (RESERVED_NAMES.has(name.toLowerCase())) return reject(`The header ${name} cannot be set.`);
  if (value.length > MAX_HEADER_VALUE_CHARS) {
    return reject(`The value of ${name} is longer than ${MAX_HEADER_VALUE_CHARS} characters.`);
  }
  if (!/^[\x20-\x7e]+$/.test(value) || value.trim() !== value) {
    return reject(`The value of ${name} must be printable ASCII without spaces at its ends.`);
  }
  return { ok: true };
}

function reject(reason: string): HeaderVerdict {
  return { ok: false, reason };
}
