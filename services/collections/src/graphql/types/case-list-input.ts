import type { CaseFilter, CaseSort, CaseStatus, Near } from "@collections/cases";
import { builder } from "../plumbing/builder.ts";
import { StatusRef } from "./case.ts";
import { badInput } from "../plumbing/client-error.ts";

const MAX_CHOICES = 50;
const MAX_TEXT_CHARS = 100;
const MAX_RADIUS_M = 1_000_000;

export const CaseSortRef = builder.enumType("CaseSort", {
  description: "The order of your cases; among equals the newest first.",
  values: {
    PRIORITY: {
      value: "priority",
      description:
        "Promises due today or before, then cases without a promise, then promises for later, then blocked cases, " +
        "then ended ones; in each of these most days past due first.",
    },
    DAYS_PAST_DUE: { value: "dpd", description: "Most days past due first; unknown last." },
    AMOUNT: { value: "amount", description: "Most outstanding first, one currency after the other." },
    NEAR_ME: { value: "near", description: "Nearest to `near` first; cases without a known place last." },
  } satisfies Record<string, { value: CaseSort; description: string }>,
});

const DayRangeInput = builder.inputType("DayRangeInput", {
  description: "Days from one to another, both included; a side that is not given is open.",
  fields: (t) => ({
    from: t.field({ type: "Date", description: "The first day." }),
    to: t.field({ type: "Date", description: "The last day." }),
  }),
});

export const CaseFilterInput = builder.inputType("CaseFilter", {
  description:
    "Which cases to list: those that satisfy every part that is given. Of a shrunk case only `status`, `lender` and " +
    "`workable` are known.",
  fields: (t) => ({
    status: t.field({ type: [StatusRef], description: "In one of these states." }),
    bucket: t.stringList({ description: "In one of these bands: `Case.bucket`." }),
    lender: t.stringList({ description: "Of one of these lenders: `LenderInfo.code`." }),
    city: t.stringList({ description: "The borrower's address is in one of these cities; capitals do not matter." }),
    postalCode: t.stringList({ description: "The borrower's address has one of these codes; spaces do not matter." }),
    promiseDue: t.field({ type: DayRangeInput, description: "With an open promise that is due on one of these days." }),
    workable: t.boolean({ description: "True: only what you may work on now. False: only what you may not." }),
  }),
});

export const NearInput = builder.inputType("NearInput", {
  description: "A place, usually where you are. Keep it the same from page to page.",
  fields: (t) => ({
    latitude: t.float({ required: true, description: "In degrees, -90 to 90." }),
    longitude: t.float({ required: true, description: "In degrees, -180 to 180." }),
    radiusM: t.int({ description: `Only cases within so many metres, 1 to ${MAX_RADIUS_M}.` }),
  }),
});

type Given<Value> = Value | null | undefined;

interface FilterGiven {
  readonly status?: Given<readonly CaseStatus[]>;
  readonly bucket?: Given<readonly string[]>;
  readonly lender?: Given<readonly string[]>;
  readonly city?: Given<readonly string[]>;
  readonly postalCode?: Given<readonly string[]>;
  readonly promiseDue?: Given<{ readonly from?: Given<string>; readonly to?: Given<string> }>;
  readonly workable?: Given<boolean>;
}

/** The filter in the form of the cases package. Throws BAD_INPUT. */
export function filterOf({ status, bucket, lender, city, postalCode, promiseDue, workable }: FilterGiven): CaseFilter {
  const due = promiseDue && { from: promiseDue.from ?? undefined, to: promiseDue.to ?? undefined };
  if (due?.from !== undefined && due.to !== undefined && due.from > due.to) {
    throw badInput("`promiseDue` ends before it begins: `from` is not after `to`.");
  }
  return {
    statuses: status ?? undefined,
    buckets: choices("bucket", bucket),
    lenderCodes: choices("lender", lender),
    cities: choices("city", city),
    postalCodes: choices("postalCode", postalCode),
    promiseDue: due ?? undefined,
    workable: workable ?? undefined,
  };
}

function choices(name: string, given: Given<readonly string[]>): readonly string[] | undefined {
  if (given && given.length > MAX_CHOICES) throw badInput(`\`${name}\` takes ${MAX_CHOICES} values at most.`);
  return given?.map((text) => plainText(name, text));
}

/** The search text; empty for a blank search. Throws BAD_INPUT. */
export function searchOf(search: Given<string>): string {
  return plainText("search", search ?? "").trim();
}

/** A valid place and radius. Throws BAD_INPUT. */
export function nearOf({ latitude, longitude, radiusM }: Near | typeof NearInput.$inferInput): Near {
  if (Math.abs(latitude) > 90 || Math.abs(longitude) > 180) {
    throw badInput("`near` has a latitude from -90 to 90 and a longitude from -180 to 180.");
  }
  if (typeof radiusM !== "number") return { latitude, longitude };
  if (radiusM < 1 || radiusM > MAX_RADIUS_M) throw badInput(`\`radiusM\` is from 1 to ${MAX_RADIUS_M} metres.`);
  return { latitude, longitude, radiusM };
}

/** A text of limited length without NUL, which PostgreSQL cannot store. Throws BAD_INPUT. */
function plainText(name: string, text: string): string {
  if (text.length <= MAX_TEXT_CHARS && !text.includes("\0")) return text.normalize();
  throw badInput(`\`${name}\` takes texts of ${MAX_TEXT_CHARS} characters at most, without control characters.`);
}
