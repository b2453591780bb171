import { CASE_STATUSES, type CaseSearch, type CaseStatus } from "@collections/cases";
import { type Command, InvalidArgumentError } from "commander";
import { type LocalMoment, readDay, readMoment } from "../terminal/read-options.ts";
import { idOf } from "../terminal/with-database.ts";

/** The options that select cases. */
export interface CaseSearchOptions {
  status?: CaseStatus[];
  holder?: string;
  branch?: string;
  postalCode?: string;
  dpd?: { from: number; to: number };
  promiseDue?: { from: string; to: string };
  notVisitedSince?: LocalMoment;
  search?: string;
}

const MAX_TEXT_CHARACTERS = 200;
const MAX_DPD = 36_500;

/** Adds the options that select cases to a command. */
export function withCaseSearchOptions(command: Command): Command {
  return command
    .option(
      "--status <status>",
      `only cases with one of these statuses, separated by commas: ${CASE_STATUSES.join(", ")}`,
      readStatuses,
    )
    .option("--holder <field-partner-id>", "only cases of this field partner; none for unassigned cases")
    .option("--branch <code>", "only cases of this branch", readText)
    .option("--postal-code <code>", "only cases whose first address has this postal code", readText)
    .option("--dpd <range>", "only cases that are past due by this number of days, such as 31..60 or 90..", readDpd)
    .option(
      "--promise-due <days>",
      "only cases with an open promise for this day, or for a range such as 2026-11-20..2026-11-26",
      readDays,
    )
    .option(
      "--not-visited-since <moment>",
      'only cases without a visit since this time, such as "2026-11-20 18:00" or 168h (7 days ago)',
      readMoment,
    )
    .option(
      "--search <text>",
      "only cases whose loan number ends with this text, or whose borrower's name has each of its words (whole, or at least the first three letters)",
      readText,
    );
}

/** Returns the search that the options describe. Moments without a time zone are in `timeZone`. */
export function caseSearchOf(options: CaseSearchOptions, timeZone: string): CaseSearch {
  const { holder } = options;
  return {
    statuses: options.status,
    holderId: holder === undefined || holder === "none" ? holder && null : idOf("fp", "field partner", holder),
    branchCode: options.branch,
    postalCode: options.postalCode,
    dpd: options.dpd,
    promiseDue: options.promiseDue,
    notVisitedSince: options.notVisitedSince?.(timeZone),
    text: options.search,
  };
}

function readStatuses(text: string): CaseStatus[] {
  const wanted = text.split(",").map((name) => name.trim());
  const statuses = CASE_STATUSES.filter((status) => wanted.includes(status));
  if (statuses.length === new Set(wanted).size) return statuses;
  throw new InvalidArgumentError(`Expected statuses of ${CASE_STATUSES.join(", ")}; got "${text.slice(0, 40)}".`);
}

function readText(text: string): string {
  const found = text.normalize().trim();
  if (found !== "" && found.length <= MAX_TEXT_CHARACTERS && !/[\p{Cc}\p{Cs}]/u.test(found)) return found;
  throw new InvalidArgumentError(`Expected 1 to ${MAX_TEXT_CHARACTERS} characters without control characters.`);
}

function readDpd(text: string): { from: number; to: number } {
  const [, from, dots, to] = /^(\d{1,5})(\.\.)?(\d{1,5})?$/.exec(text) ?? [];
  if (from === undefined || (dots === undefined && to !== undefined)) {
    const expected = "a number of days, or a range such as 31..60 or 90..";
    throw new InvalidArgumentError(`Expected ${expected}; got "${text.slice(0, 40)}".`);
  }
  const range = { from: Number(from), to: dots === undefined ? Number(from) : Number(to ?? MAX_DPD) };
  if (range.from <= range.to && range.to <= MAX_DPD) return range;
  throw new InvalidArgumentError(`Expected a range of 0 to ${MAX_DPD} days, from the lower number to the higher one.`);
}

function readDays(text: string): { from: string; to: string } {
  const [first = "", last = first, more] = text.split("..");
  const days = { from: readDay(first), to: readDay(last) };
  if (more === undefined && days.from <= days.to) return days;
  throw new InvalidArgumentError("Expected a day, or a range from the earlier day to the later one.");
}
