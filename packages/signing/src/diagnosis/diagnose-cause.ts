/**
 * All mistakes that `diagnose` can name, and how to correct them. If two mistakes explain the same signature, `diagnose`
 * names the earlier one. So special mistakes are listed before general ones, and frequent ones before rare ones.
 */
const REMEDIES = {
  TIMESTAMP_IN_SECONDS: "Sign and send the time in milliseconds.",
  TIMESTAMP_IN_MICROSECONDS: "Sign and send the time in milliseconds, which have 13 digits.",
  TIMESTAMP_IN_NANOSECONDS: "Sign and send the time in milliseconds, which have 13 digits.",
  TIMESTAMP_AS_DATE: "Sign the digits of the X-Service-Timestamp header, not a date.",
  TIMESTAMP_DIFFERS_FROM_HEADER: "Read the clock once, and sign the same text that you send in X-Service-Timestamp.",

  QUERY_STRING_SIGNED: "Sign the path without its query string: leave out the ? and everything after it.",
  METHOD_IN_LOWER_CASE: "Sign the method in capitals.",
  PATH_DECODED: "Sign the path percent-encoded, exactly as it is on the request line.",
  PATH_ENCODED_DIFFERENTLY: "Encode the path once, then sign and request the same text.",
  PATH_WITHOUT_PREFIX: "Sign the whole path of the URL that you call, including its first segments.",
  PATH_WITH_HOST: "Sign the path alone, without scheme and host.",
  PATH_WITH_TRAILING_SLASH: "Sign the path as it is requested: without a slash at its end.",
  PATH_WITHOUT_TRAILING_SLASH: "Sign the path as it is requested: with the slash at its end.",
  PATH_WITHOUT_LEADING_SLASH: "Sign the path with its first slash.",

  EMPTY_BODY_AS_OBJECT: "If there is no body, sign an empty body; {} was signed.",
  EMPTY_BODY_AS_NULL: "If there is no body, sign an empty body; null was signed.",
  EMPTY_BODY_AS_UNDEFINED: "If there is no body, sign an empty body; the word undefined was signed.",
  EMPTY_BODY_AS_ARRAY: "If there is no body, sign an empty body; [] was signed.",
  EMPTY_BODY_AS_STRING: 'If there is no body, sign an empty body; "" was signed.',
  LAST_NEWLINE_MISSING: "If there is no body, keep the newline after the timestamp: the signed text ends with it.",

  BODY_NOT_SIGNED: "Sign the body that you send; an empty one was signed.",
  BODY_WITHOUT_BOM: "The body is sent with a byte order mark but signed without it: send it without the mark too.",
  BODY_WITHOUT_TRAILING_NEWLINE:
    "The body is sent with white space around it that was not signed: sign the bytes that you send.",
  BODY_LF: "The body is sent with CRLF line ends but signed with LF: sign the bytes that you send.",
  BODY_TRAILING_NEWLINE: "A newline was signed after the body, but it is not sent: sign the bytes that you send.",
  BODY_CRLF: "CRLF line ends were signed, but they are not sent: sign the bytes that you send.",
  BODY_BOM: "A byte order mark was signed, but it is not sent: encode the body as UTF-8 without one.",
  BODY_NUMBERS_REWRITTEN:
    "Numbers were rewritten before signing (2500.0 as 2500): serialise the body once, sign and send those bytes.",
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
  BODY_NOT_UTF8: "The body was not encoded as UTF-8 for signing: sign the bytes that you send.",

  SECRET_WITH_NEWLINE: "The secret was read with a line end: trim it.",
  SECRET_WITH_SPACE: "The secret was read with a space: trim it.",
  SECRET_QUOTED: "The secret was read with its quotation marks: remove them.",
  SECRET_HEX_DECODED: "The secret was decoded from hexadecimal: use its text as it is, including sk_.",
  SECRET_BASE64_DECODED: "The secret was decoded from base64: use its text as it is, including sk_.",
  SECRET_WITHOUT_PREFIX: "Use the whole secret, including its prefix up to the second underscore.",
  SECRET_IS_KEY_ID: "Sign with the secret; the key id is for the Authorization header only.",
  SECRET_OF_ANOTHER_KEY: "Check the secret: it may belong to another key or another environment, or be incomplete.",
  SECRET_EMPTY: "The secret was empty: check that its setting is read.",

  SEPARATORS_CRLF: "Separate the four parts by one newline (LF), not by CRLF.",
  SEPARATORS_LITERAL: "Separate the four parts by a real newline; a backslash and an n were signed.",
  SEPARATORS_MISSING: "Separate the four parts by newlines; they were signed without separators.",
  SEPARATORS_DOT: "Separate the four parts by newlines, not by dots.",

  PLAIN_HASH: "Make an HMAC with the secret as its key; a plain hash was sent.",
  KEY_AND_MESSAGE_SWAPPED: "Swap the arguments of the HMAC: the secret is the key, the text is the message.",
  ALGORITHM_SHA1: "Use HMAC-SHA256; the signature has the length of SHA-1.",
  ALGORITHM_SHA512: "Use HMAC-SHA256; the signature has the length of SHA-512.",

  SIGNATURE_IN_BASE64: "Send the signature in hexadecimal: 64 digits, not base64.",
  SIGNATURE_HEX_IN_BASE64: "Send the 64 hexadecimal digits themselves; they were encoded in base64 again.",
  SIGNATURE_WITH_PREFIX: "Send the 64 hexadecimal digits alone, with nothing such as sha256= before them.",
  SIGNATURE_WITH_SEPARATORS: "Send the 64 hexadecimal digits without anything between them.",
  SIGNATURE_NOT_RECOGNISED: "Send a signature of 64 hexadecimal digits; the text that was sent is not a signature.",
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
 * Returns how to correct the mistake, in one sentence.
 *
 * @example
 * remedyFor("PATH_WITH_HOST"); // "Sign the path alone, without scheme and host."
 */
export function remedyFor(cause: SignatureCause): string {
  return REMEDIES[cause];
}
