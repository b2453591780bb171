import { createHash } from "node:crypto";
import { COMPACT_BODY, type Mistaken, NO_BODY } from "./wrong-client.ts";

/** The body in the layout of `JSON.stringify(value, null, 2)`. */
const PRETTY_BODY = `{
  "reference": "pay/Nx81",
  "amount": 2500.50,
  "items": [
    1,
    [],
    {
      "z": "a, b: c",
      "b": null
    }
  ],
  "a": {}
}`;

const rewritten = (from: string, to: string) => (body: string) => body.replaceAll(from, to);

/** Mistakes in the body: each client signs a text other than the body that it sends. */
export const BODY_MISTAKES: Mistaken[] = [
  {
    name: "{} signed for an empty body",
    cause: "EMPTY_BODY_AS_OBJECT",
    sends: NO_BODY,
    client: { body: () => JSON.stringify({}) },
  },
  {
    name: "null signed for an empty body",
    cause: "EMPTY_BODY_AS_NULL",
    sends: NO_BODY,
    client: { body: () => JSON.stringify(null) },
  },
  {
    name: "undefined signed for an empty body",
    cause: "EMPTY_BODY_AS_UNDEFINED",
    sends: NO_BODY,
    client: { body: () => String(undefined) },
  },
  {
    name: "[] signed for an empty body",
    cause: "EMPTY_BODY_AS_ARRAY",
    sends: NO_BODY,
    client: { body: () => JSON.stringify([]) },
  },
  {
    name: "an empty JSON string signed for an empty body",
    cause: "EMPTY_BODY_AS_STRING",
    sends: NO_BODY,
    client: { body: () => JSON.stringify("") },
  },
  {
    name: "no newline after the timestamp",
    cause: "LAST_NEWLINE_MISSING",
    sends: NO_BODY,
    client: { join: (parts) => Buffer.from(parts.slice(0, 3).join("\n")) },
  },

  { name: "a body that is sent and not signed", cause: "BODY_NOT_SIGNED", client: { body: () => "" } },
  {
    name: "an indented body signed in compact form",
    cause: "BODY_COMPACT",
    sends: { body: PRETTY_BODY },
    client: { body: () => '{"reference":"pay/Nx81","amount":2500.50,"items":[1,[],{"z":"a, b: c","b":null}],"a":{}}' },
  },
  {
    name: "an indented body parsed and serialised again",
    cause: "BODY_COMPACT",
    sends: { body: PRETTY_BODY },
    client: { body: (body) => JSON.stringify(JSON.parse(body)) },
  },
  {
    name: "an indented body signed as Python serialises it",
    cause: "BODY_SPACED_SEPARATORS",
    sends: { body: PRETTY_BODY },
    client: {
      body: () =>
        '{"reference": "pay/Nx81", "amount": 2500.50, "items": [1, [], {"z": "a, b: c", "b": null}], "a": {}}',
    },
  },
  {
    name: "a compact body signed with indentation",
    cause: "BODY_PRETTY",
    sends: { body: '{"a":{},"b":[1,{"c":"d"}]}' },
    client: { body: (body) => JSON.stringify(JSON.parse(body), null, 2) },
  },
  {
    name: "a compact body signed with the indentation of PHP",
    cause: "BODY_PRETTY",
    sends: { body: '{"a":{},"b":[1,{"c":"d"}]}' },
    client: {
      body: () => '{\n    "a": {},\n    "b": [\n        1,\n        {\n            "c": "d"\n        }\n    ]\n}',
    },
  },
  {
    name: "keys sorted at every depth",
    cause: "BODY_SORTED_KEYS",
    client: {
      body: () => '{"a":{},"amount":2500.50,"items":[{"b":2.0,"z":1},[]],"note":"आशा & Söhne","reference":"pay/Nx81"}',
    },
  },
  {
    name: "keys sorted only in the outermost object, as ksort does",
    cause: "BODY_SORTED_KEYS",
    client: {
      body: () => '{"a":{},"amount":2500.50,"items":[{"z":1,"b":2.0},[]],"note":"आशा & Söhne","reference":"pay/Nx81"}',
    },
  },
  {
    name: "keys sorted in an indented body",
    cause: "BODY_SORTED_KEYS",
    sends: { body: '{\n  "b": 1,\n  "a": [\n    2\n  ]\n}' },
    client: { body: () => '{\n  "a": [\n    2\n  ],\n  "b": 1\n}' },
  },
  { name: "slashes escaped", cause: "BODY_SLASHES_ESCAPED", client: { body: rewritten("/", "\\/") } },
  {
    name: "escaped slashes unescaped",
    cause: "BODY_SLASHES_UNESCAPED",
    sends: { body: '{"url":"https:\\/\\/acme.example\\/a\\\\b"}' },
    client: { body: rewritten("\\/", "/") },
  },
  {
    name: "non-ASCII letters escaped",
    cause: "BODY_NON_ASCII_ESCAPED",
    client: { body: (body) => body.replaceAll("आशा", "\\u0906\\u0936\\u093e").replaceAll("ö", "\\u00f6") },
  },
  {
    name: "non-ASCII letters escaped in upper case",
    cause: "BODY_NON_ASCII_ESCAPED",
    client: { body: (body) => body.replaceAll("आशा", "\\u0906\\u0936\\u093E").replaceAll("ö", "\\u00F6") },
  },
  {
    name: "escaped letters unescaped",
    cause: "BODY_NON_ASCII_UNESCAPED",
    sends: { body: '{"name":"\\u0906\\u0936\\u093e \\ud83d\\ude4f \\\\u00f6"}' },
    client: { body: () => '{"name":"आशा 🙏 \\\\u00f6"}' },
  },
  { name: "& escaped, as Go does", cause: "BODY_HTML_ESCAPED", client: { body: rewritten("&", "\\u0026") } },
  {
    name: "numbers rewritten",
    cause: "BODY_NUMBERS_REWRITTEN",
    client: { body: (body) => body.replace("2500.50", "2500.5").replace("2.0", "2") },
  },
  { name: "a newline after the body", cause: "BODY_TRAILING_NEWLINE", client: { body: (body) => `${body}\n` } },
  {
    name: "a newline signed for an empty body",
    cause: "BODY_TRAILING_NEWLINE",
    sends: NO_BODY,
    client: { body: () => "\n" },
  },
  {
    name: "a newline that is sent and not signed",
    cause: "BODY_WITHOUT_TRAILING_NEWLINE",
    sends: { body: `${COMPACT_BODY}\n` },
    client: { body: (body) => body.trimEnd() },
  },
  { name: "CRLF after the body", cause: "BODY_CRLF", client: { body: (body) => `${body}\r\n` } },
  {
    name: "CRLF in the body",
    cause: "BODY_CRLF",
    sends: { body: PRETTY_BODY },
    client: { body: rewritten("\n", "\r\n") },
  },
  {
    name: "CRLF that is sent and not signed",
    cause: "BODY_LF",
    sends: { body: PRETTY_BODY.replaceAll("\n", "\r\n") },
    client: { body: rewritten("\r\n", "\n") },
  },
  {
    name: "a byte order mark",
    cause: "BODY_BOM",
    client: { body: (body) => Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), Buffer.from(body)]) },
  },
  {
    name: "a byte order mark that is sent and not signed",
    cause: "BODY_WITHOUT_BOM",
    sends: { body: `\uFEFF${COMPACT_BODY}` },
    client: { body: (body) => body.slice(1) },
  },
  {
    name: "the body in Latin-1",
    cause: "BODY_NOT_UTF8",
    sends: { body: '{"name":"Söhne"}' },
    client: { body: (body) => Buffer.from(body, "latin1") },
  },
  { name: "the body in ASCII", cause: "BODY_NOT_UTF8", client: { body: (body) => body.replaceAll(/[^ -~]/g, "?") } },
  {
    name: "the body encoded as UTF-8 twice",
    cause: "BODY_NOT_UTF8",
    client: { body: (body) => Buffer.from(body).toString("latin1") },
  },
  {
    name: "the hash of the body",
    cause: "BODY_HASHED",
    client: { body: (body) => createHash("sha256").update(body).digest("hex") },
  },
  {
    name: "the body as a string of JSON",
    cause: "BODY_AS_JSON_STRING",
    client: { body: (body) => JSON.stringify(body) },
  },
  { name: "[object Object]", cause: "BODY_AS_OBJECT_NAME", client: { body: (body) => String(JSON.parse(body)) } },
];
