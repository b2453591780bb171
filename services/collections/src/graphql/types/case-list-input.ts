import type { CaseFilter, CaseSort, CaseStatus, Near } from "@collections/cases";
import { builder } from "../plumbing/builder.ts";
import { StatusRef } from "./case.ts";
import { badInput } from "../plumbing/client-error.ts";

const MAX_CHOICES = 50;
const MAX_TEXT_CHARS = 100;
const MAX_RADIUS_M = 1_000_000;

export const CaseSortRef = builder.enumType("CaseSort", {
  description: "The sort order of your cases. Cases with equal values are sorted by age, the newest first.",
  values: {
    PRIORITY: {
      value: "priority",
      description:
        "Five groups of cases in this order: promise due today or earlier, no promise, promise due later, " +
        "blocked, ended. In each group, the most days past due come first.",
    },
    DAYS_PAST_DUE: {
      value: "dpd",
      description: "The most days past due first. Cases without a known number come last.",
    },
    AMOUNT: { value: "amount", description: "The highest outstanding amount first, grouped by currency." },
    NEAR_ME: { value: "near", description: "The case nearest to `near` first. Cases without a known place come last." },
  } satisfies Record<string, { value: CaseSort; description: string }>,
});

const DayRangeInput = builder.inputType("DayRangeInput", {
  description: "A range of days that includes both ends. Without `from` or `to` the range has no limit on that side.",
  fields: (t) => ({
    from: t.field({ type: "Date", description: "The first day." }),
    to: t.field({ type: "Date", description: "The last day." }),
  }),
});

export const CaseFilterInput = builder.inputType("CaseFilter", {
  description:
    "Selects the cases that match all given fields. A shrunk case (`Case.isShrunk`) can only match `status`, " +
    "`lender` and `workable`.",
  fields: (t) => ({
    status: t.field({ type: [StatusRef], description: "Cases with one of these statuses." }),
    bucket: t.stringList({ description: "Cases in one of these bands of days past due, as in `Case.bucket`." }),
    lender: t.stringList({ description: "Cases of one of these lenders, named by `LenderInfo.code`." }),
    city: t.stringList({ description: "Cases with an address in one of these cities, in upper or lower case." }),
    postalCode: t.stringList({
      description: "Cases with an address that has one of these postal codes, with or without spaces.",
    }),
    promiseDue: t.field({
      type: DayRangeInput,
      description: "Cases with an open promise that is due on one of these days.",
    }),
    workable: t.boolean({ description: "True: only workable cases. False: only cases that are not workable." }),
  }),
});

export const NearInput = builder.inputType("NearInput", {
  description: "A place, usually your own position. Send the same place for every page of a list.",
  fields: (t) => ({
    latitude: t.float({ required: true, description: "The latitude in degrees, from -90 to 90." }),
    longitude: t.float({ required: true, description: "The longitude in degrees, from -180 to 180." }),
    radiusM: t.int({ description: `Only cases within this distance in metres, from 1 to ${MAX_RADIUS_M}.` }),
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

/** Converts the filter for the cases package. Throws BAD_INPUT. */
export function filterOf({ status, bucket, lender, city, postalCode, promiseDue, workable }: FilterGiven): CaseFilter {
  const due = promiseDue && { from: promiseDue.from ?? undefined, to: promiseDue.to ?? undefined };
  if (due?.from !== undefined && due.to !== undefined && due.from > due.to) {
    throw badInput("`promiseDue` ends before it begins: `from` must not be after `to`.");
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

/** Returns the search text; empty for a blank search. Throws BAD_INPUT. */
export function searchOf(search: Given<string>): string {
  return plainText("search", search ?? "").trim();
}

/** Checks and returns a place and a radius. Throws BAD_INPUT. */
export function nearOf({ latitude, longitude, radiusM }: Near | typeof NearInput.$inferInput): Near {
  if (Math.abs(latitude) > 90 || Math.abs(longitude) > 180) {
    throw badInput("`near` must have a latitude from -90 to 90 and a longitude from -180 to 180.");
  }
  if (typeof radiusM !== "number") return { latitude, longitude };
  if (radiusM < 1 || radiusM > MAX_RADIUS_M) throw badInput(`\`radiusM\` must be from 1 to ${MAX_RADIUS_M} metres.`);
  return { latitude, longitude, radiusM };
}

/** Returns a text of limited length without NUL, which PostgreSQL cannot store. Throws BAD_INPUT for any other text. */
function plainText(name: string, text: string): string {
  if (text.length <= MAX_TEXT_CHARS && !text.includes("\0")) return text.normalize();
  throw badInput(`\`${name}\` takes texts of ${MAX_TEXT_CHARS} characters at most, without control characters.`);
}
