import { validateHeaderName, validateHeaderValue } from "node:http";
import { HEADERS } from "@collections/signing";
import type { Header } from "../stand-in/settings.ts";
import { UsageError } from "../usage-error.ts";

/** Headers that the service sets itself; a registered header cannot replace them. */
const SERVICE_HEADERS = new Set(
  ["Content-Type", "Content-Length", "Host", "Idempotency-Key", ...Object.values(HEADERS)].map((name) =>
    name.toLowerCase(),
  ),
);

/** Reads an absolute https URL, or a plain http URL of this machine. Throws UsageError. */
export function readUrl(option: string, text: string | undefined): URL | undefined {
  if (text === undefined) return undefined;
  if (!/^https?:\/\/[^/]/i.test(text) || !URL.canParse(text)) {
    throw new UsageError(`--${option} must be an absolute URL, such as https://lender.example/hooks/collections.`);
  }
  const url = new URL(text);
  if (url.username !== "" || url.password !== "") {
    throw new UsageError(`--${option} must not contain a user name or password: the service rejects such a URL.`);
  }
  if (url.protocol === "http:" && !isThisMachine(url.hostname)) {
    throw new UsageError(`--${option} must be https. Plain http is allowed only for localhost.`);
  }
  url.hash = "";
  return url;
}

/** Reads the state URL, which has `{loan}` in the place of the loan number. Throws UsageError. */
export function readState(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  if (!text.includes("{loan}")) {
    throw new UsageError(
      "--state needs {loan} in the place of the loan number, as in https://lender.example/loans/{loan}.",
    );
  }
  readUrl("state", text.replaceAll("{loan}", "loan"));
  return text;
}

/** Reads `Name: value`. Errors never repeat the value, because it is a secret. Throws UsageError. */
export function readHeader(option: string, text: string | undefined): Header | undefined {
  if (text === undefined || text === "") return undefined;
  const [, name = "", value = ""] = /^([^:\s]+):\s*(.*\S)\s*$/.exec(text) ?? [];
  try {
    validateHeaderName(name);
    validateHeaderValue(name, value);
  } catch {
    throw new UsageError(`--${option} must be "Name: value", in quotes, with characters that are valid in a header.`);
  }
  if (value === "") throw new UsageError(`--${option} must be "Name: value", in quotes.`);
  if (SERVICE_HEADERS.has(name.toLowerCase()))
    throw new UsageError(`--${option}: the service sets ${name} itself; use another header.`);
  return { name, value };
}

function isThisMachine(hostname: string): boolean {
  return /^(127(\.\d+){3}|\[::1\]|(.+\.)?localhost)$/.test(hostname);
}
