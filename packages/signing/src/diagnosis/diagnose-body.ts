import { toHex } from "../hex.ts";
import { sha256 } from "#hmac";
import { type MistakeIn, ways } from "./diagnose-recipe.ts";
import {
  asJavaScriptWrites,
  COMPACT,
  type JsonLayout,
  jsonText,
  type JsonTokens,
  jsonTokens,
  withNumbersRewritten,
  withSortedKeys,
} from "./json-tokens.ts";

type BodyMistake = MistakeIn<"body">;
type BodyChange = BodyMistake["change"];

const NUMBERS = { part: "body", step: 0 } as const;
const ORDER = { part: "body", step: 1 } as const;
const LAYOUT = { part: "body", step: 2 } as const;
const SLASHES = { part: "body", step: 3 } as const;
const ESCAPES = { part: "body", step: 4 } as const;
const FRAME = { part: "body", step: 5 } as const;
const ENCODING = { part: "body", step: 6 } as const;
const REPLACED = { part: "body", step: 7 } as const;

const SPACED: JsonLayout = { comma: ", ", colon: ": " };
const PRETTY: readonly JsonLayout[] = ["  ", "    ", "\t"].map((indent) => ({ comma: ",", colon: ": ", indent }));
const LAYOUTS = [COMPACT, SPACED, ...PRETTY];

const NON_ASCII = /[\u0080-\uffff]/g;
const QUESTION_MARK = 0x3f;
const BOM = "\uFEFF";
const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Lists the mistakes that are possible with an empty body or, if `isEmpty` is false, with any other body. */
export function bodyMistakes(isEmpty: boolean): BodyMistake[] {
  return isEmpty ? [...emptyBodyMistakes(), ...frameMistakes()] : [...sentBodyMistakes(), ...frameMistakes()];
}

function emptyBodyMistakes(): BodyMistake[] {
  return [
    ...ways(NUMBERS, "EMPTY_BODY_AS_OBJECT", [always("{}")]),
    ...ways(NUMBERS, "EMPTY_BODY_AS_NULL", [always("null")]),
    ...ways(NUMBERS, "EMPTY_BODY_AS_UNDEFINED", [always("undefined")]),
    ...ways(NUMBERS, "EMPTY_BODY_AS_ARRAY", [always("[]")]),
    ...ways(NUMBERS, "EMPTY_BODY_AS_STRING", [always('""')]),
  ];
}

function sentBodyMistakes(): BodyMistake[] {
  return [
    ...ways(NUMBERS, "BODY_NUMBERS_REWRITTEN", [ofJson((text) => withNumbersRewritten(text))]),
    ...ways(
      ORDER,
      "BODY_SORTED_KEYS",
      [true, false].map((deep) => ofJson((text, tokens) => sorted(text, tokens, deep))),
    ),
    ...ways(LAYOUT, "BODY_COMPACT", laidOut([COMPACT])),
    ...ways(LAYOUT, "BODY_SPACED_SEPARATORS", laidOut([SPACED])),
    ...ways(LAYOUT, "BODY_PRETTY", laidOut(PRETTY)),
    ...ways(SLASHES, "BODY_SLASHES_ESCAPED", [ofJson(withSlashesEscaped)]),
    ...ways(SLASHES, "BODY_SLASHES_UNESCAPED", [ofJson(withSlashesUnescaped)]),
    ...ways(ESCAPES, "BODY_NON_ASCII_ESCAPED", [
      ofJson((text) => text.replaceAll(NON_ASCII, (unit) => `\\u${inHex(unit)}`)),
      ofJson((text) => text.replaceAll(NON_ASCII, (unit) => `\\u${inHex(unit).toUpperCase()}`)),
    ]),
    ...ways(ESCAPES, "BODY_NON_ASCII_UNESCAPED", [ofJson(withoutUnicodeEscapes)]),
    ...ways(ESCAPES, "BODY_HTML_ESCAPED", [ofJson((text) => text.replaceAll(/[<>&]/g, (mark) => `\\u${inHex(mark)}`))]),
    ...ways(FRAME, "BODY_WITHOUT_BOM", [ofText((text) => (text.startsWith(BOM) ? text.slice(1) : undefined))]),
    ...ways(FRAME, "BODY_WITHOUT_TRAILING_NEWLINE", [
      ofText((text) => text.replace(/\r?\n$/, "")),
      ofText((text) => text.trim()),
    ]),
    ...ways(FRAME, "BODY_LF", [ofText((text) => text.replaceAll("\r\n", "\n"))]),
    ...ways(ENCODING, "BODY_NOT_UTF8", [ofText(inLatin1), ofText(inAscii), inUtf8Twice]),
    ...ways(REPLACED, "BODY_NOT_SIGNED", [always("")]),
    ...ways(REPLACED, "BODY_AS_OBJECT_NAME", [always("[object Object]")]),
    ...ways(REPLACED, "BODY_AS_JSON_STRING", [ofText((text) => JSON.stringify(text))]),
  ];
}

/** Lists mistakes that are possible with any body, including an empty one. */
function frameMistakes(): BodyMistake[] {
  return [
    ...ways(FRAME, "BODY_TRAILING_NEWLINE", [ofText((text) => `${text}\n`)]),
    ...ways(FRAME, "BODY_CRLF", [
      ofText((text) => text.replaceAll(/(?<!\r)\n/g, "\r\n")),
      ofText((text) => `${text}\r\n`),
    ]),
    ...ways(FRAME, "BODY_BOM", [ofText((text) => (text.startsWith(BOM) ? undefined : BOM + text))]),
    ...ways(REPLACED, "BODY_HASHED", [(body) => encoder.encode(toHex(sha256([body])))]),
  ];
}

function always(text: string): BodyChange {
  return () => encoder.encode(text);
}

function ofText(change: (text: string) => string | Uint8Array | undefined): BodyChange {
  return (body) => {
    const { text } = readingOf(body);
    const changed = text === undefined ? undefined : change(text);
    if (changed === text) return undefined;
    return typeof changed === "string" ? encoder.encode(changed) : changed;
  };
}

function ofJson(change: (text: string, tokens: JsonTokens) => string): BodyChange {
  return (body) => {
    const tokens = readingOf(body).tokens();
    return tokens && ofText((text) => change(text, tokens))(body);
  };
}

interface Reading {
  /** The body as text, including a byte order mark. Undefined if the body is not UTF-8. */
  readonly text: string | undefined;
  readonly tokens: () => JsonTokens | undefined;
}

/** The result of `readingOf` for each body. It is cached, because many mistakes change the same body. */
const readings = new WeakMap<Uint8Array, Reading>();

/** Reads a body as text and, if it is JSON, as tokens. */
export function readingOf(body: Uint8Array): Reading {
  const known = readings.get(body);
  if (known) return known;
  const text = textOf(body);
  let tokens: { found: JsonTokens | undefined } | undefined;
  const reading: Reading = {
    text,
    tokens: () =>
      (tokens ??= { found: text === undefined ? undefined : jsonTokens(text.replace(/^\uFEFF/, "")) }).found,
  };
  readings.set(body, reading);
  return reading;
}

function textOf(body: Uint8Array): string | undefined {
  try {
    return decoder.decode(body);
  } catch {
    return undefined;
  }
}

/**
 * Serialises the JSON twice in each layout: with the original spelling of numbers and strings, and with JavaScript's.
 */
function laidOut(layouts: readonly JsonLayout[]): BodyChange[] {
  return layouts.flatMap((layout) => [
    ofJson((_, tokens) => jsonText(tokens, layout)),
    ofJson((_, tokens) => jsonText(asJavaScriptWrites(tokens), layout)),
  ]);
}

/** Serialises the JSON with sorted keys, in its original layout if that is one of `LAYOUTS`, otherwise compactly. */
function sorted(text: string, tokens: JsonTokens, deep: boolean): string {
  const layout = LAYOUTS.find((each) => jsonText(tokens, each) === text) ?? COMPACT;
  return jsonText(withSortedKeys(tokens, deep), layout);
}

function withSlashesEscaped(text: string): string {
  return text.replaceAll(/\\.|\//g, (found) => (found === "/" ? "\\/" : found));
}

function withSlashesUnescaped(text: string): string {
  return text.replaceAll(/\\./g, (found) => (found === "\\/" ? "/" : found));
}

function inHex(unit: string): string {
  return unit.charCodeAt(0).toString(16).padStart(4, "0");
}

function withoutUnicodeEscapes(text: string): string {
  return text.replaceAll(/\\(?:u([0-9a-f]{4})|.)/gi, (found, hex: string | undefined) => {
    const code = Number.parseInt(hex ?? "0", 16);
    return code < 0x80 ? found : String.fromCharCode(code);
  });
}

function inLatin1(text: string): Uint8Array {
  const bytes = new Uint8Array(text.length);
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    bytes[index] = unit < 0x100 ? unit : QUESTION_MARK;
  }
  return bytes;
}

function inAscii(text: string): string {
  return text.replaceAll(NON_ASCII, "?");
}

/** Decodes UTF-8 as Latin-1 and encodes it again, so that each byte above ASCII becomes two bytes. */
function inUtf8Twice(body: Uint8Array): Uint8Array {
  const twice = new Uint8Array(body.length * 2);
  let length = 0;
  for (const byte of body) {
    if (byte >= 0x80) twice[length++] = 0xc0 | (byte >> 6);
    twice[length++] = byte < 0x80 ? byte : 0x80 | (byte & 0x3f);
  }
  return twice.subarray(0, length);
}
