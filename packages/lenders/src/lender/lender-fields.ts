import { isTimeZone } from "@collections/local-time";
import { currency, isCurrency, parsePercent, type CurrencyCode, type Percent } from "@collections/money";
import { checkHeader, checkUrl } from "@collections/outbound";
import type { LenderFault, LenderFaultCode } from "./lender-fault.ts";
import type { FallbackBank } from "../schema.ts";

const MAX_NAME_CHARS = 120;
const MAX_INSTRUCTIONS_CHARS = 1000;
const MAX_EMAIL_CHARS = 254;
const MAX_TECHNICAL_CONTACTS = 10;
const MAX_URL_CHARS = 2048;
const MAX_PAYMENT_LINK_HOSTS = 20;
const MAX_KEEP_DAYS = 3_650;
const MAX_TEMPLATE_LANGUAGES = 40;
const MAX_RATE_PER_MINUTE = 10_000_000;

/** The auth header that a lender registered for its mint endpoint. The value is secret. */
export interface AuthHeader {
  readonly name: string;
  readonly value: string;
}

/** The headers that the service sets on every mint call. A lender cannot register one of them. */
const SERVICE_HEADERS = /^(x-service-.*|idempotency-key|content-type|content-encoding|proxy-authenticate)$/i;

/** The value of a field, or what is wrong with it. */
export type Reading<Value> = { readonly value: Value } | Omit<LenderFault, "field">;

export function readCode(text: string): Reading<string> {
  if (/^[A-Z0-9]{2,16}$/.test(text)) return { value: text };
  return fault("INVALID_CODE", "Expected 2 to 16 characters of A-Z and 0-9, for example ACME.");
}

export function readName(text: string): Reading<string> {
  return readText(text.normalize().trim(), MAX_NAME_CHARS);
}

export function readCountry(text: string): Reading<string> {
  if (/^[A-Z]{2}$/.test(text)) return { value: text };
  return fault("INVALID_COUNTRY", "Expected two capital letters (ISO 3166-1), for example IN.");
}

export function readCurrency(text: string): Reading<CurrencyCode> {
  if (isCurrency(text)) return { value: currency(text) };
  return fault("INVALID_CURRENCY", "Expected an ISO 4217 code in capitals, for example INR.");
}

export function readLanguage(text: string): Reading<string> {
  try {
    const [canonical] = text.length <= 35 ? Intl.getCanonicalLocales(text) : [];
    if (canonical !== undefined) return { value: canonical };
  } catch {
    // Intl throws a RangeError for a text that is not a language tag.
  }
  return fault("INVALID_LANGUAGE", "Expected a BCP 47 language tag, for example en or hi-IN.");
}

/**
 * Accepts only names, not offsets: in an offset such as +05:30, PostgreSQL and JavaScript give the sign opposite
 * meanings.
 */
export function readTimeZone(text: string): Reading<string> {
  if (isTimeZone(text)) return { value: text };
  return fault("INVALID_TIME_ZONE", "Expected a time zone of the IANA database, for example Asia/Kolkata.");
}

/**
 * Reads the balance cut-off. If the as-of value of a balance is only a date, the service assumes this time of day, in
 * the lender's time zone.
 */
export function readBalanceCutoff(text: string): Reading<string> {
  if (/^(?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9])?$/.test(text)) return { value: text };
  return fault("INVALID_TIME", "Expected a time of day such as 23:59 or 18:30:00.");
}

/** Reads the number of days for which the personal data of borrowers are kept after the end of their case. */
export function readKeepPersonalDataDays(days: number): Reading<number> {
  if (Number.isInteger(days) && days >= 1 && days <= MAX_KEEP_DAYS) return { value: days };
  return fault("INVALID_DAYS", `Expected 1 to ${MAX_KEEP_DAYS} days, for example 365.`);
}

export function readTechnicalContacts(texts: readonly string[]): Reading<string[]> {
  const emails = [...new Map(texts.map((text) => [text.trim().toLowerCase(), text.trim()])).values()];
  const odd = emails.find((email) => !isEmail(email));
  if (odd !== undefined) return fault("INVALID_EMAIL", `"${odd.slice(0, 80)}" is not an e-mail address.`);
  if (emails.length <= MAX_TECHNICAL_CONTACTS) return { value: emails };
  return fault("INVALID_EMAIL", `At most ${MAX_TECHNICAL_CONTACTS} addresses; got ${emails.length}.`);
}

/** Checks only the form. The outbound guard decides whether the service may connect to the URL. */
export function readMintLinkUrl(text: string): Reading<string> {
  if (text.length <= MAX_URL_CHARS && /^https?:\/\//i.test(text) && URL.canParse(text)) return { value: text };
  return fault("INVALID_URL", "Expected an absolute URL, for example https://lender.example/mint.");
}

/** Reads `pay.acme.example` or `pay.acme.example:8443`. Each host is normalised as in a URL: lower case and punycode. */
export function readPaymentLinkHosts(texts: readonly string[]): Reading<string[]> {
  const hosts = texts.map((text) => publicHostOf(text.trim()));
  const odd = hosts.indexOf(undefined);
  if (odd !== -1) {
    const example = "Expected a public host such as pay.acme.example or pay.acme.example:8443";
    return fault("INVALID_HOST", `${example}; got "${texts[odd]!.slice(0, 80)}".`);
  }
  const unique = [...new Set(hosts as string[])];
  if (unique.length <= MAX_PAYMENT_LINK_HOSTS) return { value: unique };
  return fault("INVALID_HOST", `At most ${MAX_PAYMENT_LINK_HOSTS} hosts; got ${unique.length}.`);
}

function publicHostOf(text: string): string | undefined {
  const url = /^[^\s/\\?#@]+$/.test(text) ? URL.parse(`https://${text}/`) : null;
  if (url === null || url.hostname.endsWith(".")) return undefined;
  return checkUrl(url.href, { entries: [] }).ok ? url.host : undefined;
}

/** Reads `Name: value`. No error detail shows the value. */
export function readMintAuthHeader(text: string): Reading<AuthHeader> {
  const colon = text.indexOf(":");
  if (colon < 1) return fault("INVALID_HEADER", 'Expected "Name: value", for example "Authorization: Bearer …".');
  const header = { name: text.slice(0, colon), value: text.slice(colon + 1).replace(/^[ \t]+|[ \t]+$/g, "") };
  const verdict = checkHeader(header.name, header.value);
  if (!verdict.ok) return fault("INVALID_HEADER", verdict.reason);
  if (!SERVICE_HEADERS.test(header.name)) return { value: header };
  return fault("INVALID_HEADER", `The service sets ${header.name} itself; register another header.`);
}

export function readUpiId(text: string): Reading<string> {
  if (/^[A-Za-z0-9._-]{2,190}@[A-Za-z][A-Za-z0-9]{1,63}$/.test(text)) return { value: text };
  return fault("INVALID_UPI_ID", "Expected a UPI id such as acme.collections@okbank.");
}

/**
 * Reads `accountNumber` and optionally `accountName`, `ifsc`, `swift` and `bankName`. It rejects any other field, so that a
 * misspelt field name is noticed.
 */
export function readBank(bank: FallbackBank): Reading<FallbackBank> {
  const patterns: Record<string, RegExp> = {
    accountNumber: /^[A-Z0-9]{4,34}$/,
    accountName: /^[^\p{Cc}\p{Cs}]{1,120}$/u,
    ifsc: /^[A-Z]{4}0[A-Z0-9]{6}$/,
    swift: /^[A-Z]{6}[A-Z0-9]{2}(?:[A-Z0-9]{3})?$/,
    bankName: /^[^\p{Cc}\p{Cs}]{1,120}$/u,
  };
  const given = Object.entries(bank as unknown as Record<string, unknown>).filter(([, value]) => value !== undefined);
  const odd = given.find(([key, value]) => typeof value !== "string" || !patterns[key]?.test(value));
  if (odd !== undefined) {
    const detail = patterns[odd[0]]
      ? "does not have the expected form"
      : `is not one of ${Object.keys(patterns).join(", ")}`;
    return fault(
      "INVALID_BANK",
      `${odd[0]} ${detail}; an account number has 4 to 34 characters of A-Z and 0-9, without spaces.`,
    );
  }
  if (bank.accountNumber === undefined) return fault("INVALID_BANK", "The account number is missing.");
  return { value: Object.fromEntries(given) as unknown as FallbackBank };
}

export function readInstructions(text: string): Reading<string> {
  return readText(text.normalize().trim(), MAX_INSTRUCTIONS_CHARS, /(?!\n)[\p{Cc}\p{Cs}]/u);
}

export function readCommissionPercent(text: string): Reading<Percent> {
  const reading = parsePercent(text);
  return "percent" in reading ? { value: reading.percent } : fault("INVALID_PERCENT", reading.detail);
}

export function readWhatsappPhoneNumberId(text: string): Reading<string> {
  if (/^[0-9]{5,20}$/.test(text)) return { value: text };
  return fault("INVALID_WHATSAPP", "Expected the phone number id of WhatsApp's Cloud API: digits only.");
}

export function readWhatsappToken(text: string): Reading<string> {
  if (/^[\x21-\x7e]{1,1024}$/.test(text)) return { value: text };
  return fault("INVALID_WHATSAPP", "Expected an access token: printable ASCII without spaces.");
}

/** Reads the name of a template, alone or with the languages in which Meta has approved it. */
export function readWhatsappTemplate(text: string): Reading<string> {
  const isTemplate = /^[a-z0-9_]{1,512}(?::[a-z]{2,3}(?:_[A-Z]{2,4})?(?:,[a-z]{2,3}(?:_[A-Z]{2,4})?)*)?$/.test(text);
  if (isTemplate && templateOf(text).languages.length <= MAX_TEMPLATE_LANGUAGES) return { value: text };
  return fault(
    "INVALID_WHATSAPP",
    `Expected a template's name of a-z, 0-9 and _, and up to ${MAX_TEMPLATE_LANGUAGES} of Meta's language codes, such as payment_link:en,hi.`,
  );
}

/** Divides `payment_link:en,hi` into the name of the template and its languages. */
export function templateOf(registered: string): { name: string; languages: string[] } {
  const [name = "", languages = ""] = registered.split(":");
  return { name, languages: languages === "" ? [] : [...new Set(languages.split(","))] };
}

export function readWhatsappAppSecret(text: string): Reading<string> {
  if (/^[\x21-\x7e]{16,256}$/.test(text)) return { value: text };
  return fault("INVALID_WHATSAPP", "Expected the app secret of the Meta app: 16 to 256 characters without spaces.");
}

export function readWhatsappVerifyToken(text: string): Reading<string> {
  if (/^[\x21-\x7e]{8,256}$/.test(text)) return { value: text };
  return fault("INVALID_WHATSAPP", "Expected a verify token that you choose: 8 to 256 characters without spaces.");
}

/** Reads rate limits: the name of each limit, and its requests per minute. Null restores the limit's default. */
export function readRateLimits(
  limits: Readonly<Record<string, number | null>>,
): Reading<Record<string, number | null>> {
  for (const [name, perMinute] of Object.entries(limits)) {
    const isRate = Number.isInteger(perMinute) && Number(perMinute) >= 1 && Number(perMinute) <= MAX_RATE_PER_MINUTE;
    if (!/^[a-z][a-zA-Z0-9_/-]{0,39}$/.test(name) || !(perMinute === null || isRate)) {
      const detail = `Expected a limit's name and 1 to ${MAX_RATE_PER_MINUTE} requests per minute, such as confirm=60000.`;
      return fault("INVALID_RATE_LIMIT", detail);
    }
  }
  return { value: { ...limits } };
}

function readText(text: string, maxChars: number, forbidden = /[\p{Cc}\p{Cs}]/u): Reading<string> {
  if (text !== "" && text.length <= maxChars && !forbidden.test(text)) return { value: text };
  return fault("INVALID_TEXT", `Expected 1 to ${maxChars} characters without control characters.`);
}

function isEmail(text: string): boolean {
  const pattern = /^[^\s@<>()[\]\\,;:"]{1,64}@(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]*[a-z0-9]$/i;
  return text.length <= MAX_EMAIL_CHARS && pattern.test(text);
}

function fault(code: LenderFaultCode, detail: string): Omit<LenderFault, "field"> {
  return { code, detail };
}
