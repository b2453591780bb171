import { timeZoneOfCountry } from "@collections/local-time";
import { type CurrencyCode, isCurrency, type Percent } from "@collections/money";
import {
  type AuthHeader,
  readBalanceCutoff,
  readBank,
  readCode,
  readCommissionPercent,
  readCountry,
  readCurrency,
  readInstructions,
  readKeepPersonalDataDays,
  readLanguage,
  readMintAuthHeader,
  readMintLinkUrl,
  readName,
  readPaymentLinkHosts,
  readRateLimits,
  readTechnicalContacts,
  readTimeZone,
  readUpiId,
  readWhatsappAppSecret,
  readWhatsappPhoneNumberId,
  readWhatsappTemplate,
  readWhatsappToken,
  readWhatsappVerifyToken,
  type Reading,
} from "./lender-fields.ts";
import { InvalidLenderError, type LenderFault } from "./lender-fault.ts";
import type { FallbackBank } from "../schema.ts";

/** The changes to a lender. A field that is absent stays unchanged. A field that is null is cleared. */
export interface LenderChanges {
  name?: string;
  /** ISO 3166-1 alpha-2. */
  country?: string;
  /** The currency of a new case whose imported row names no currency, as an ISO 4217 code. */
  currency?: string;
  /** The language of a new case whose imported row names no language, as a BCP 47 tag. */
  language?: string;
  /** IANA name. */
  timeZone?: string;
  /**
   * `HH:MM` or `HH:MM:SS`. If the as-of value of a balance is only a date, the service assumes this time of day in
   * `timeZone`.
   */
  balanceCutoff?: string | null;
  /** After how many days from the end of a case its borrower's personal data are erased: 1 to 3650. */
  keepPersonalDataDays?: number;
  /** E-mail addresses of the people who look after the integration. */
  technicalContacts?: readonly string[];
  mintLinkUrl?: string | null;
  /** The auth header of mint calls, as `Name: value`. It is stored sealed and never shown again. */
  mintAuthHeader?: string | null;
  /** The hosts that a minted link may lead to, such as `pay.acme.example:8443`. If empty, any public host is allowed. */
  paymentLinkHosts?: readonly string[];
  fallbackUpiId?: string | null;
  fallbackBank?: FallbackBank | null;
  fallbackInstructions?: string | null;
  /** A percentage such as `2.5`, with at most 4 decimals. */
  commissionPercent?: string;
  whatsappPhoneNumberId?: string | null;
  /** The access token of the lender's WhatsApp account. It is stored sealed and never shown again. */
  whatsappToken?: string | null;
  /**
   * The name of the template that carries a link, alone or with Meta's codes of the languages in which it is approved,
   * such as `payment_link:en,hi`. The first is for borrowers for whose language there is no template.
   */
  whatsappTemplate?: string | null;
  /** The secret with which Meta signs its callbacks. It is stored sealed and never shown again. */
  whatsappAppSecret?: string | null;
  /** The token that Meta sends when the webhook is registered. It is stored sealed and never shown again. */
  whatsappVerifyToken?: string | null;
  /** Maps the name of a limit to its requests per minute. Null restores the default. Limits not named stay unchanged. */
  rateLimits?: Readonly<Record<string, number | null>>;
}

/**
 * A lender to register. The default country and time zone follow from the currency: INR gives the country IN and the time
 * zone Asia/Kolkata.
 */
export interface NewLender extends LenderChanges {
  /** 2 to 16 characters of A-Z and 0-9. The code can never be changed. */
  code: string;
  name: string;
  currency: string;
}

/** Checked values of a lender. The secrets are not sealed yet. */
export interface LenderValues {
  code: string;
  name: string;
  country: string;
  currency: CurrencyCode;
  language: string;
  timeZone: string;
  balanceCutoff: string | null;
  keepPersonalDataDays: number;
  technicalContacts: string[];
  mintLinkUrl: string | null;
  mintAuthHeader: AuthHeader | null;
  paymentLinkHosts: string[];
  fallbackUpiId: string | null;
  fallbackBank: FallbackBank | null;
  fallbackInstructions: string | null;
  commissionPercent: Percent;
  whatsappPhoneNumberId: string | null;
  whatsappToken: string | null;
  whatsappTemplate: string | null;
  whatsappAppSecret: string | null;
  whatsappVerifyToken: string | null;
  rateLimits: Record<string, number | null>;
}

type Readers = { [Field in keyof LenderValues]: (given: never) => Reading<NonNullable<LenderValues[Field]>> };

const readers: Readers = {
  code: readCode,
  name: readName,
  country: readCountry,
  currency: readCurrency,
  language: readLanguage,
  timeZone: readTimeZone,
  balanceCutoff: readBalanceCutoff,
  keepPersonalDataDays: readKeepPersonalDataDays,
  technicalContacts: readTechnicalContacts,
  mintLinkUrl: readMintLinkUrl,
  mintAuthHeader: readMintAuthHeader,
  paymentLinkHosts: readPaymentLinkHosts,
  fallbackUpiId: readUpiId,
  fallbackBank: readBank,
  fallbackInstructions: readInstructions,
  commissionPercent: readCommissionPercent,
  whatsappPhoneNumberId: readWhatsappPhoneNumberId,
  whatsappToken: readWhatsappToken,
  whatsappTemplate: readWhatsappTemplate,
  whatsappAppSecret: readWhatsappAppSecret,
  whatsappVerifyToken: readWhatsappVerifyToken,
  rateLimits: readRateLimits,
};

/** The default for new lenders. The column has the same default, for the lenders that existed before the column. */
const KEEP_PERSONAL_DATA_DAYS = 365;

const CLEARABLE: ReadonlySet<string> = new Set([
  "balanceCutoff",
  "mintLinkUrl",
  "mintAuthHeader",
  "fallbackUpiId",
  "fallbackBank",
  "fallbackInstructions",
  "whatsappPhoneNumberId",
  "whatsappToken",
  "whatsappTemplate",
  "whatsappAppSecret",
  "whatsappVerifyToken",
]);

/** Checks a new lender and fills in the defaults. Throws InvalidLenderError with all faults. */
export function readNewLender(lender: NewLender): LenderValues {
  const country = lender.country ?? (isCurrency(lender.currency) ? lender.currency.slice(0, 2) : undefined);
  return readGiven({
    language: "en",
    timeZone: timeZoneOfCountry(country ?? "") ?? "UTC",
    balanceCutoff: null,
    keepPersonalDataDays: KEEP_PERSONAL_DATA_DAYS,
    technicalContacts: [],
    mintLinkUrl: null,
    mintAuthHeader: null,
    paymentLinkHosts: [],
    fallbackUpiId: null,
    fallbackBank: null,
    fallbackInstructions: null,
    commissionPercent: "0",
    whatsappPhoneNumberId: null,
    whatsappToken: null,
    whatsappTemplate: null,
    whatsappAppSecret: null,
    whatsappVerifyToken: null,
    rateLimits: {},
    ...definedOf({ ...lender, country }),
  }) as LenderValues;
}

/** Checks changes to a lender. Throws InvalidLenderError with all faults. */
export function readLenderChanges(changes: LenderChanges): Partial<LenderValues> {
  return readGiven(definedOf(changes));
}

function readGiven(given: Record<string, unknown>): Partial<LenderValues> {
  const values: Record<string, unknown> = {};
  const faults: LenderFault[] = [];
  for (const [field, read] of Object.entries(readers) as [string, (given: unknown) => Reading<unknown>][]) {
    if (!(field in given)) continue;
    if (given[field] === null && CLEARABLE.has(field)) {
      values[field] = null;
      continue;
    }
    const reading = given[field] === null ? REQUIRED : read(given[field]);
    if ("value" in reading) values[field] = reading.value;
    else faults.push({ field, ...reading });
  }
  const [first, ...others] = faults;
  if (first) throw new InvalidLenderError([first, ...others]);
  return values;
}

const REQUIRED = { code: "REQUIRED", detail: "This field cannot be cleared." } as const;

function definedOf(given: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}
