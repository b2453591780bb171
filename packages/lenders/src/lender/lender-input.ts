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

/** What an operator may change of a lender. Absent: as it is; null: taken away. */
export interface LenderChanges {
  name?: string;
  /** ISO 3166-1 alpha-2. */
  country?: string;
  /** ISO 4217: the default of imported rows. */
  currency?: string;
  /** BCP 47: the default of imported rows. */
  language?: string;
  /** IANA name. */
  timeZone?: string;
  /** `HH:MM` or `HH:MM:SS` by the clocks of the time zone: what a date without a time means for a balance in a file. */
  balanceCutoff?: string | null;
  /** E-mail addresses of the people who look after the integration. */
  technicalContacts?: readonly string[];
  mintLinkUrl?: string | null;
  /** `Name: value`, kept sealed and never shown again. */
  mintAuthHeader?: string | null;
  /** Hosts that a minted link may lead to, as `pay.acme.example` or `pay.acme.example:8443`; none: any public host. */
  paymentLinkHosts?: readonly string[];
  fallbackUpiId?: string | null;
  fallbackBank?: FallbackBank | null;
  fallbackInstructions?: string | null;
  /** Such as `2.5`, with at most 4 decimals. */
  commissionPercent?: string;
  whatsappPhoneNumberId?: string | null;
  /** Kept sealed and never shown again. */
  whatsappToken?: string | null;
  whatsappTemplate?: string | null;
  /** By which Meta signs its callbacks; kept sealed and never shown again. */
  whatsappAppSecret?: string | null;
  /** What Meta shows when the webhook is registered; kept sealed and never shown again. */
  whatsappVerifyToken?: string | null;
  /** Requests a minute by the name of the limit; a null takes that override back, the others stay. */
  rateLimits?: Readonly<Record<string, number | null>>;
}

/** A lender to be. What is absent follows from the currency: INR is a lender in IN, whose clocks show Asia/Calcutta. */
export interface NewLender extends LenderChanges {
  /** 2 to 16 of A-Z and 0-9, never changed. */
  code: string;
  name: string;
  currency: string;
}

/** Checked values; the secrets are still open. */
export interface LenderValues {
  code: string;
  name: string;
  country: string;
  currency: CurrencyCode;
  language: string;
  timeZone: string;
  balanceCutoff: string | null;
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

/** Checks a lender to be and fills in what is absent. Throws InvalidLenderError with every fault at once. */
export function readNewLender(lender: NewLender): LenderValues {
  const country = lender.country ?? (isCurrency(lender.currency) ? lender.currency.slice(0, 2) : undefined);
  return readGiven({
    language: "en",
    timeZone: timeZoneOf(country ?? ""),
    balanceCutoff: null,
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

/** Checks changes. Throws InvalidLenderError with every fault at once. */
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

const REQUIRED = { code: "REQUIRED", detail: "A lender cannot be without it." } as const;

function definedOf(given: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}

/** The zone of a country that has just one; UTC where there are several or none. */
function timeZoneOf(country: string): string {
  if (!/^[A-Z]{2}$/.test(country)) return "UTC";
  const locale = new Intl.Locale(`und-${country}`) as Intl.Locale & { getTimeZones(): string[] | undefined };
  const [zone, ...others] = locale.getTimeZones() ?? [];
  return zone !== undefined && others.length === 0 ? zone : "UTC";
}
