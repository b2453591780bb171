import { validateHeaderName, validateHeaderValue } from "node:http";
import { HEADERS } from "@collections/signing";
import type { Header } from "../stand-in/settings.ts";
import { UsageError } from "../usage-error.ts";

/** Headers that the service sends itself: a registered one does not replace them. */
const OURS = new Set(
  ["Content-Type", "Content-Length", "Host", "Idempotency-Key", ...Object.values(HEADERS)].map((name) =>
    name.toLowerCase(),
  ),
);

/** An absolute https URL, or plain http on this machine. Throws UsageError. */
export function readUrl(option: string, text: string | undefined): URL | undefined {
  if (text === undefined) return undefined;
  if (!/^https?:\/\/[^/]/i.test(text) || !URL.canParse(text)) {
    throw new UsageError(`--${option} takes an absolute URL such as https://lender.example/hooks/collections.`);
  }
  const url = new URL(text);
  if (url.username !== "" || url.password !== "") {
    throw new UsageError(`--${option} must not carry a user name or password; the service would refuse such a URL.`);
  }
  if (url.protocol === "http:" && !isThisMachine(url.hostname)) {
    throw new UsageError(
      `--${option} has to be https: plain http is for localhost only, and nobody else registers it.`,
    );
  }
  url.hash = "";
  return url;
}

/** The state URL with its place for the loan number. Throws UsageError. */
export function readState(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  if (!text.includes("{loan}")) {
    throw new UsageError("--state needs {loan} where the loan number goes, as in https://lender.example/loans/{loan}.");
  }
  readUrl("state", text.replaceAll("{loan}", "loan"));
  return text;
}

/** `Name: value`. The value is never repeated. Throws UsageError. */
export function readHeader(option: string, text: string | undefined): Header | undefined {
  if (text === undefined || text === "") return undefined;
  const [, name = "", value = ""] = /^([^:\s]+):\s*(.*\S)\s*$/.exec(text) ?? [];
  try {
    validateHeaderName(name);
    validateHeaderValue(name, value);
  } catch {
    throw new UsageError(`--${option} takes "Name: value", in quotes, of characters that a header can have.`);
  }
  if (value === "") throw new UsageError(`--${option} takes "Name: value", in quotes.`);
  if (OURS.has(name.toLowerCase())) throw new UsageError(`--${option}: the service sends ${name} itself.`);
  return { name, value };
}

function isThisMachine(hostname: string): boolean {
  return /^(127(\.\d+){3}|\[::1\]|(.+\.)?localhost)$/.test(hostname);
}
