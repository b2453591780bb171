/**
 * All mistakes that `diagnose` can name, and how to correct them. If two mistakes explain the same signature, `diagnose`
 * names the earlier one. So special mistakes are listed before general ones, and frequent ones before rare ones.
 */
const REMEDIES = {
  TIMESTAMP_IN_SECONDS: "Sign and send the time in milliseconds.",
  TIMESTAMP_IN_MICROSECONDS: "Sign and send the time in milliseconds, which have 13 digits.",
  TIMESTAMP_IN_NANOSECONDS: "Sign and send the time in milliseconds, which have 13 digits.",
  TIMESTAMP_AS_DATE: "Sign the digits of the X-Service-Timestamp header, not a date.",
  TIMESTAMP_DIFFERS_FROM_HEADER: "Read the clock once, sign that text and send that very text in X-Service-Timestamp.",

  QUERY_STRING_SIGNED: "Sign the path without its query string: nothing from the ? on.",
  METHOD_IN_LOWER_CASE: "Sign the method in capitals.",
  PATH_DECODED: "Sign the path percent-encoded, exactly as it stands on the request line.",
  PATH_ENCODED_DIFFERENTLY: "Encode the path once, then sign and request that very text.",
  PATH_WITHOUT_PREFIX: "Sign the whole path of the URL that you call, its first segments included.",
  PATH_WITH_HOST: "Sign the path alone, without scheme and host.",
  PATH_WITH_TRAILING_SLASH: "Sign the path as it is requested: here it ends without a slash.",
  PATH_WITHOUT_TRAILING_SLASH: "Sign the path as it is requested: here it ends with a slash.",
  PATH_WITHOUT_LEADING_SLASH: "Sign the path with its first slash.",

  EMPTY_BODY_AS_OBJECT: "Sign nothing where there is no body; {} was signed.",
  EMPTY_BODY_AS_NULL: "Sign nothing where there is no body; null was signed.",
  EMPTY_BODY_AS_UNDEFINED: "Sign nothing where there is no body; the word undefined was signed.",
  EMPTY_BODY_AS_ARRAY: "Sign nothing where there is no body; [] was signed.",
  EMPTY_BODY_AS_STRING: 'Sign nothing where there is no body; "" was signed.',
  LAST_NEWLINE_MISSING: "Keep the newline after the timestamp where there is no body: the signed text ends with it.",

  BODY_NOT_SIGNED: "Sign the body that you send; an empty one was signed.",
  BODY_WITHOUT_BOM: "The body is sent with a byte order mark and signed without: send it without, too.",
  BODY_WITHOUT_TRAILING_NEWLINE:
    "The body is sent with white space around it that was not signed: sign the bytes sent.",
  BODY_LF: "The body is sent with CRLF line ends and signed with LF: sign the very bytes that you send.",
  BODY_TRAILING_NEWLINE: "A newline was signed behind the body that is not sent: sign the very bytes that you send.",
  BODY_CRLF: "CRLF line ends were signed that are not sent: sign the very bytes that you send.",
  BODY_BOM: "A byte order mark was signed that is not sent: encode the body as UTF-8 without one.",
  BODY_NUMBERS_REWRITTEN:
    "Numbers were written anew before signing (2500.0 as 2500): serialise once, sign those bytes.",
  BODY_SLASHES_UNESCAPED: "\\/ was signed as /: serialise the body once, then sign and send those bytes.",
  BODY_SLASHES_ESCAPED: "/ was signed as \\/: serialise the body once, then sign and send those bytes.",
  BODY_NON_ASCII_UNESCAPED:
    "\\u escapes were signed as characters: serialise the body once, sign and send those bytes.",
  BODY_NON_ASCII_ESCAPED: "Characters were signed as \\u escapes: serialise the body once, sign and send those bytes.",
  BODY_HTML_ESCAPED: "<, > and & were signed as \\u escapes: serialise the body once, sign and send those bytes.",
  BODY_COMPACT: "The body was serialised again without white space for signing: serialise once, sign those bytes.",
  BODY_SPACED_SEPARATORS:
    'The body was serialised again with ", " and ": " for signing: serialise once, sign those bytes.',
  BODY_SORTED_KEYS: "The body was serialised again with sorted keys for signing: serialise once, sign those bytes.",
  BODY_PRETTY: "The body was serialised again with indentation for signing: serialise once, sign those bytes.",
  BODY_AS_JSON_STRING: "The body was serialised twice, as a string of JSON, for signing: sign the bytes that you send.",
  BODY_AS_OBJECT_NAME: "[object Object] was signed in place of the body: sign the serialised text that you send.",
  BODY_HASHED: "A hash of the body was signed in its place: sign the body itself.",
  BODY_NOT_UTF8: "The body was encoded otherwise than UTF-8 for signing: sign the very bytes that you send.",

  SECRET_WITH_NEWLINE: "The secret was read with a line end: trim it.",
  SECRET_WITH_SPACE: "The secret was read with a space: trim it.",
  SECRET_QUOTED: "The secret was read with its quotation marks: take them off.",
  SECRET_HEX_DECODED: "Use the secret's text as it is, sk_ included: it was decoded from hexadecimal.",
  SECRET_BASE64_DECODED: "Use the secret's text as it is, sk_ included: it was decoded from base64.",
  SECRET_WITHOUT_PREFIX: "Use the whole secret: its prefix, up to the second underscore, belongs to it.",
  SECRET_IS_KEY_ID: "Sign with the secret; the key id is for the Authorization header only.",
  SECRET_OF_ANOTHER_KEY: "Check the secret: it may belong to another key or another environment, or be cut.",
  SECRET_EMPTY: "The secret was empty: check that its setting is read.",

  SEPARATORS_CRLF: "Separate the four parts by one newline (LF), not by CRLF.",
  SEPARATORS_LITERAL: "Separate the four parts by a real newline; a backslash and an n were signed.",
  SEPARATORS_MISSING: "Separate the four parts by newlines; nothing stood between them.",
  SEPARATORS_DOT: "Separate the four parts by newlines, not by dots.",

  PLAIN_HASH: "Make an HMAC with the secret as its key; a plain hash was sent.",
  KEY_AND_MESSAGE_SWAPPED: "Exchange the arguments of the HMAC: the secret is the key, the text is the message.",
  ALGORITHM_SHA1: "Use HMAC-SHA256; this is the length of SHA-1.",
  ALGORITHM_SHA512: "Use HMAC-SHA256; this is the length of SHA-512.",

  SIGNATURE_IN_BASE64: "Send the signature in hexadecimal: 64 digits, not base64.",
  SIGNATURE_HEX_IN_BASE64: "Send the 64 hexadecimal digits themselves; they were encoded in base64 again.",
  SIGNATURE_WITH_PREFIX: "Send the 64 hexadecimal digits alone, with nothing such as sha256= before them.",
  SIGNATURE_WITH_SEPARATORS: "Send the 64 hexadecimal digits without anything between them.",
  SIGNATURE_NOT_RECOGNISED: "Send a signature of 64 hexadecimal digits; what was sent is no signature.",
} as const satisfies Record<string, string>;

/** The cause of a wrong signature. The list is published: causes may be added, but do not change. */
export type SignatureCause = keyof typeof REMEDIES;

/**
 * The published list of causes. contract: Signature debugger
 *
 * @example
 * for (const cause of SIGNATURE_CAUSES) console.log(`${cause}: ${remedyFor(cause)}`);
 */
export const SIGNATURE_CAUSES = Object.keys(REMEDIES) as readonly SignatureCause[];

/**
 * How to correct a cause, in one sentence.
 *
 * @example
 * remedyFor("PATH_WITH_HOST"); // "Sign the path alone, without scheme and host."
 */
export function remedyFor(cause: SignatureCause): string {
  return REMEDIES[cause];
}
