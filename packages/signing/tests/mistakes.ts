import { createHash, createHmac } from "node:crypto";
import { BODY_MISTAKES } from "./mistakes-in-body.ts";
import { hmac, HOST, joinedBy, KEY_ID, type Mistaken, NO_BODY, OLDER_SECRET, TIMESTAMP } from "./wrong-client.ts";

const sha256 = (...parts: Buffer[]) => createHash("sha256").update(Buffer.concat(parts)).digest();

/** Clients that make one mistake each, most of them by one superfluous library call. */
export const MISTAKES: Mistaken[] = [
  {
    name: "seconds signed, milliseconds sent",
    cause: "TIMESTAMP_IN_SECONDS",
    client: { timestamp: (sent) => String(Math.floor(Number(sent) / 1000)) },
  },
  {
    name: "seconds with a fraction",
    cause: "TIMESTAMP_IN_SECONDS",
    client: { timestamp: (sent) => String(Number(sent) / 1000) },
  },
  { name: "microseconds", cause: "TIMESTAMP_IN_MICROSECONDS", client: { timestamp: (sent) => `${sent}000` } },
  {
    name: "an ISO date",
    cause: "TIMESTAMP_AS_DATE",
    client: { timestamp: (sent) => new Date(Number(sent)).toISOString() },
  },
  {
    name: "the clock read twice, for signing and for sending",
    cause: "TIMESTAMP_DIFFERS_FROM_HEADER",
    client: { timestamp: (sent) => String(Number(sent) - 2) },
  },
  {
    name: "the sent timestamp cut to whole seconds",
    cause: "TIMESTAMP_DIFFERS_FROM_HEADER",
    sends: { timestamp: "1795167667000" },
    client: { timestamp: () => TIMESTAMP },
  },
  {
    name: "a retry signed with the timestamp of the first try",
    cause: "TIMESTAMP_DIFFERS_FROM_HEADER",
    client: { timestamp: (sent) => String(Number(sent) - 30_000) },
  },
  {
    name: "milliseconds signed, seconds sent",
    cause: "TIMESTAMP_IN_SECONDS",
    sends: { timestamp: "1795167667" },
    client: { timestamp: () => TIMESTAMP },
  },

  { name: "the query string", cause: "QUERY_STRING_SIGNED", client: { path: (target) => target } },
  {
    name: "the path decoded",
    cause: "PATH_DECODED",
    client: { path: (target) => decodeURIComponent(target.split("?")[0]!) },
  },
  {
    name: "the path encoded in lower case",
    cause: "PATH_ENCODED_DIFFERENTLY",
    client: { path: (target) => target.split("?")[0]!.replaceAll("%2F", "%2f") },
  },
  {
    name: "the path encoded twice",
    cause: "PATH_ENCODED_DIFFERENTLY",
    client: { path: (target) => target.split("?")[0]!.split("/").map(encodeURIComponent).join("/") },
  },
  {
    name: "the path without a proxy's prefix",
    cause: "PATH_WITHOUT_PREFIX",
    client: { path: (target) => target.split("?")[0]!.slice("/api".length) },
  },
  {
    name: "the path without the router's mount path",
    cause: "PATH_WITHOUT_PREFIX",
    client: { path: (target) => target.split("?")[0]!.slice("/api/v1/partner".length) },
  },
  {
    name: "the whole URL",
    cause: "PATH_WITH_HOST",
    client: { path: (target) => `https://${HOST}${target.split("?")[0]}` },
  },
  {
    name: "host and path",
    cause: "PATH_WITH_HOST",
    client: { path: (target) => `${HOST.split(":")[0]}${target.split("?")[0]}` },
  },
  {
    name: "a slash after the path",
    cause: "PATH_WITH_TRAILING_SLASH",
    client: { path: (target) => `${target.split("?")[0]}/` },
  },
  {
    name: "a path without the slash at its end",
    cause: "PATH_WITHOUT_TRAILING_SLASH",
    sends: { ...NO_BODY, target: "/api/v1/partner/cases/" },
    client: { path: () => "/api/v1/partner/cases" },
  },
  {
    name: "a path without its first slash",
    cause: "PATH_WITHOUT_LEADING_SLASH",
    client: { path: (target) => target.split("?")[0]!.slice(1) },
  },
  {
    name: "the method in lower case",
    cause: "METHOD_IN_LOWER_CASE",
    client: { method: (method) => method.toLowerCase() },
  },

  { name: "a secret with its newline", cause: "SECRET_WITH_NEWLINE", client: { key: (secret) => `${secret}\n` } },
  { name: "a secret with CRLF", cause: "SECRET_WITH_NEWLINE", client: { key: (secret) => `${secret}\r\n` } },
  { name: "a secret with a space", cause: "SECRET_WITH_SPACE", client: { key: (secret) => `${secret} ` } },
  { name: "a secret in quotes", cause: "SECRET_QUOTED", client: { key: (secret) => JSON.stringify(secret) } },
  {
    name: "a secret decoded from hex by Node",
    cause: "SECRET_HEX_DECODED",
    client: { key: (secret) => Buffer.from(secret, "hex") },
  },
  {
    name: "a secret's digits decoded from hex",
    cause: "SECRET_HEX_DECODED",
    client: { key: (secret) => Buffer.from(secret.replace("sk_sandbox_", ""), "hex") },
  },
  {
    name: "a secret decoded from base64 by Node",
    cause: "SECRET_BASE64_DECODED",
    client: { key: (secret) => Buffer.from(secret, "base64") },
  },
  {
    name: "a secret's digits decoded from base64",
    cause: "SECRET_BASE64_DECODED",
    client: { key: (secret) => Buffer.from(secret.split("_")[2]!, "base64") },
  },
  {
    name: "a secret without its prefix",
    cause: "SECRET_WITHOUT_PREFIX",
    client: { key: (secret) => secret.split("_")[2]! },
  },
  { name: "the key id as secret", cause: "SECRET_IS_KEY_ID", client: { key: () => KEY_ID } },
  { name: "an older secret", cause: "SECRET_OF_ANOTHER_KEY", client: { key: () => OLDER_SECRET } },

  { name: "CRLF between the parts", cause: "SEPARATORS_CRLF", client: { join: joinedBy("\r\n") } },
  { name: "a backslash and an n between the parts", cause: "SEPARATORS_LITERAL", client: { join: joinedBy("\\n") } },
  { name: "nothing between the parts", cause: "SEPARATORS_MISSING", client: { join: joinedBy("") } },
  { name: "dots between the parts", cause: "SEPARATORS_DOT", client: { join: joinedBy(".") } },

  { name: "a plain hash", cause: "PLAIN_HASH", client: { digest: (_, message) => sha256(message) } },
  {
    name: "a plain hash of secret and message",
    cause: "PLAIN_HASH",
    client: { digest: (key, message) => sha256(key, message) },
  },
  {
    name: "a plain hash of message and secret",
    cause: "PLAIN_HASH",
    client: { digest: (key, message) => sha256(message, key) },
  },
  {
    name: "key and message swapped",
    cause: "KEY_AND_MESSAGE_SWAPPED",
    client: { digest: (key, message) => createHmac("sha256", message).update(key).digest() },
  },
  { name: "SHA-1", cause: "ALGORITHM_SHA1", client: { digest: hmac("sha1") } },
  { name: "SHA-512", cause: "ALGORITHM_SHA512", client: { digest: hmac("sha512") } },

  { name: "base64", cause: "SIGNATURE_IN_BASE64", client: { write: (digest) => digest.toString("base64") } },
  {
    name: "base64 for URLs",
    cause: "SIGNATURE_IN_BASE64",
    client: { write: (digest) => digest.toString("base64url") },
  },
  {
    name: "the hex digits encoded in base64",
    cause: "SIGNATURE_HEX_IN_BASE64",
    client: { write: (digest) => Buffer.from(digest.toString("hex")).toString("base64") },
  },
  {
    name: "sha256= before the signature",
    cause: "SIGNATURE_WITH_PREFIX",
    client: { write: (digest) => `sha256=${digest.toString("hex")}` },
  },
  {
    name: "v1: before the signature",
    cause: "SIGNATURE_WITH_PREFIX",
    client: { write: (digest) => `v1:${digest.toString("hex")}` },
  },
  {
    name: "dashes between the bytes, as .NET does",
    cause: "SIGNATURE_WITH_SEPARATORS",
    client: { write: (digest) => digest.toString("hex").toUpperCase().match(/../g)!.join("-") },
  },
  ...BODY_MISTAKES,
];
