import { isSupportedCountry } from "libphonenumber-js";
import {
  below,
  decimalNumber,
  type FieldReader,
  isObject,
  leaveOut,
  list,
  refuse,
  text,
  yesOrNo,
} from "./field-readers.ts";
import { type PhoneReading, readPhoneNumber } from "./phone-number.ts";
import { warnOfUnknown } from "./unknown-fields.ts";

/** An address of a borrower. `country` is two letters of ISO 3166. */
export interface Address {
  readonly line1: string | null;
  readonly line2: string | null;
  readonly landmark: string | null;
  readonly city: string | null;
  readonly district: string | null;
  readonly state: string | null;
  readonly postalCode: string | null;
  readonly country: string;
  readonly latitude: number | null;
  readonly longitude: number | null;
}

/** The borrower's consent by channel. Null means unknown, which counts as allowed. */
export interface Consent {
  readonly whatsapp: boolean | null;
  readonly email: boolean | null;
}

const MAX_ADDRESSES = 10;
const EMAIL = /^[^\s@,;<>"]+@[^\s@,;<>".]+(?:\.[^\s@,;<>".]+)+$/;

/** Reads a phone number and returns it in E.164, see `readPhoneNumber`. Does not check whether the number is in use. */
export const phone: FieldReader<string> = (value, context) => {
  const reading: PhoneReading =
    typeof value === "string" ? readPhoneNumber(value, context.country) : { fault: "unreadable" };
  if ("number" in reading) return reading.number;
  const expected = "Expected E.164, for example +919800000001.";
  const detail =
    reading.fault === "unreadable" ? expected : `There is no such number in ${context.country}. ${expected}`;
  return refuse(context, "INVALID_PHONE", detail);
};

export const email: FieldReader<string> = (value, context) => {
  const address = text(254)(value, context);
  if (address === undefined) return undefined;
  return EMAIL.test(address)
    ? address
    : refuse(context, "WRONG_TYPE", "Expected an e-mail address such as name@example.com.");
};

/** Reads a BCP 47 language tag and returns it in canonical form. */
export const language: FieldReader<string> = (value, context) => {
  const tag = text(35)(value, context);
  if (tag === undefined) return undefined;
  try {
    return Intl.getCanonicalLocales(tag)[0];
  } catch {
    return refuse(context, "WRONG_TYPE", "Expected a BCP 47 language tag such as hi-IN.");
  }
};

export const country: FieldReader<string> = (value, context) =>
  typeof value === "string" && isSupportedCountry(value)
    ? value
    : refuse(context, "INVALID_ENUM", "Expected two capital letters of ISO 3166 such as IN.");

const ADDRESS_FIELDS = {
  line1: text(200),
  line2: text(200),
  landmark: text(200),
  city: text(100),
  district: text(100),
  state: text(100),
  postalCode: text(20),
  country,
  latitude: decimalNumber(-90, 90),
  longitude: decimalNumber(-180, 180),
} satisfies { [Field in keyof Address]: FieldReader<NonNullable<Address[Field]>> };

export const addresses: FieldReader<Address[]> = list((value, context) => {
  const read = fields<Address>(value, context, ADDRESS_FIELDS);
  return read && { ...read, country: read.country ?? context.country };
}, MAX_ADDRESSES);

const CONSENT_FIELDS = { whatsapp: yesOrNo, email: yesOrNo };

/** Reads the consent for the channels that the row contains. The other channels do not change. */
export const consent: FieldReader<Partial<Consent>> = (value, context) => {
  const read = fields<Consent>(value, context, CONSENT_FIELDS);
  if (read === undefined || !isObject(value)) return undefined;
  return Object.fromEntries(Object.entries(read).filter(([channel]) => Object.hasOwn(value, channel)));
};

/** Reads the known fields of an object. A field that is null or absent becomes null. */
function fields<Value extends object>(
  value: unknown,
  context: Parameters<FieldReader<unknown>>[1],
  readers: { readonly [Field in keyof Value & string]: FieldReader<NonNullable<Value[Field]>> },
): Value | undefined {
  if (!isObject(value)) return refuse(context, "WRONG_TYPE", "Expected an object.");
  warnOfUnknown(value, context, namesOf(readers));
  const faultsBefore = context.faults.length;
  const entries = Object.entries<FieldReader<unknown>>(readers).map(([field, read]) => {
    const raw = Object.hasOwn(value, field) ? value[field] : null;
    return [field, raw === null || raw === undefined ? null : read(raw, below(context, field))];
  });
  if (context.leaveOutFaulty) {
    leaveOut(context, faultsBefore);
    return Object.fromEntries(entries.map(([field, part]) => [field, part ?? null])) as Value;
  }
  return context.faults.length > faultsBefore ? undefined : (Object.fromEntries(entries) as Value);
}

const namesOfReaders = new WeakMap<object, ReadonlySet<string>>();

/**
 * Returns the names of an object's fields. Each set is created once, because `warnOfUnknown` caches data for each set.
 */
function namesOf(readers: object): ReadonlySet<string> {
  const names = namesOfReaders.get(readers) ?? new Set(Object.keys(readers));
  namesOfReaders.set(readers, names);
  return names;
}
