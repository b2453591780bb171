import { publicId, parsePublicId, transaction } from "@collections/database";
import { type PlaceInSearch, searchCases, type SearchedCase } from "@collections/flows";
import { listLenders, recordAct } from "@collections/lenders";
import { timeIn } from "@collections/local-time";
import { type Command, InvalidArgumentError } from "commander";
import { withCurrency } from "../../desk/amount-text.ts";
import { shownCase } from "../../desk/shown-case.ts";
import { machineTimeZone } from "../terminal/local-time.ts";
import { formatOf, type PageOptions, printPage, withPageOptions } from "../terminal/page-options.ts";
import { readReason } from "../terminal/read-options.ts";
import { EXIT, Refusal } from "../terminal/refusal.ts";
import { endProgress, showProgress } from "../terminal/terminal.ts";
import { lenderNamed, type Operator, withDatabase } from "../terminal/with-database.ts";
import { caseSearchOf, type CaseSearchOptions, withCaseSearchOptions } from "./case-search-options.ts";
import { counted } from "../../desk/counted.ts";

interface ListOptions extends CaseSearchOptions, PageOptions<PlaceInSearch> {
  lender?: string;
  withContact?: true;
  reason?: string;
}

/** Adds `case list` to the commands of cases. */
export function addListCommand(command: Command): void {
  const listCommand = command
    .command("list")
    .description("List the current cases that match all of the given options.");
  listCommand.option("--lender <code>", "only cases of this lender; by default of all lenders");
  withPageOptions(withCaseSearchOptions(listCommand), readPlace)
    .option("--with-contact", "show the full phone numbers; needs --reason, and the audit log records it")
    .option("--reason <text>", "why the phone numbers are needed, for the audit log", readReason)
    .addHelpText(
      "after",
      `
The cases of a lender are listed in the order of their creation. Phone numbers are masked.

Examples:
  pnpm collections case list --lender ACME --holder none
  pnpm collections case list --promise-due 2026-11-26 --csv > promises.csv
  pnpm collections case list --holder fp_0192… --not-visited-since 168h --dpd 31..60 --json`,
    )
    .action((options: ListOptions) => list(options));
}

async function list({ limit, cursor, csv, withContact, reason, lender: code, ...options }: ListOptions): Promise<void> {
  const format = formatOf({ csv });
  if (withContact && reason === undefined) {
    const detail = "--with-contact needs --reason: the audit log records who saw which phone numbers, and why.";
    throw new Refusal("REQUIRED", detail, EXIT.notUnderstood);
  }
  await withDatabase(async (operator) => {
    const em = operator.em();
    const lenders = code === undefined ? await listLenders(em) : [await lenderNamed(em, code)];
    const search = caseSearchOf(options, lenders.length === 1 ? lenders[0]!.timeZone : machineTimeZone());
    const { items, next } = await searchCases(operator.em(), search, {
      lenders,
      after: cursor ?? null,
      limit,
      onProgress: (found) => showProgress(`Searching: found ${counted(found, "case")}`),
    });
    endProgress();
    if (withContact) await recordContacts(operator, items, reason!);
    const shown = items.map((one) => shownCase(one, { hasContact: withContact === true }));
    printPage(format, {
      name: "cases",
      items: shown,
      nextCursor: next && `${next.lenderCode}/${publicId("case", next.caseId)}`,
      fields: FIELDS,
      columns: columnsOf(shown),
      none: "No case matches.",
    });
  });
}

/**
 * Records in the audit that an operator saw the phone numbers of these cases. Each case gets an entry, so that `case show`
 * finds it.
 */
async function recordContacts({ em }: Operator, items: readonly SearchedCase[], reason: string): Promise<void> {
  await transaction(em(), async (tx) => {
    for (const { lender, sourceLoanNumber: loan, id } of items) {
      const data = { loan, cases: [publicId("case", id)] };
      recordAct(tx, { lenderId: lender.id, act: "contact.revealed", reason, data });
    }
  });
}

type ShownCase = ReturnType<typeof shownCase>;

const FIELDS = [
  "lenderCode",
  "sourceLoanNumber",
  "caseId",
  "status",
  "fieldWork",
  "outstandingAmount",
  "currency",
  "dpd",
  "bucket",
  "branchCode",
  "postalCode",
  "borrowerName",
  "borrowerPhone",
  "fieldPartnerId",
  "fieldPartnerName",
  "promiseDueOn",
  "lastVisitAt",
  "updatedAt",
  "timeZone",
] as const satisfies (keyof ShownCase)[];

const COLUMNS: Readonly<Record<string, (one: ShownCase) => string>> = {
  LENDER: ({ lenderCode }) => lenderCode,
  LOAN: ({ sourceLoanNumber }) => sourceLoanNumber,
  STATUS: ({ status }) => status.replaceAll("_", " "),
  OUTSTANDING: ({ outstandingAmount, currency }) => withCurrency(outstandingAmount, currency),
  DPD: ({ dpd }) => String(dpd ?? ""),
  BORROWER: ({ borrowerName }) => borrowerName,
  PHONE: ({ borrowerPhone }) => borrowerPhone,
  "FIELD PARTNER": ({ fieldPartnerName, fieldPartnerId }) => fieldPartnerName ?? fieldPartnerId ?? "nobody",
  PROMISE: ({ promiseDueOn }) => promiseDueOn ?? "",
};

/** Returns the columns of the table. The last one names the time zone, in its heading if all cases have the same. */
function columnsOf(cases: readonly ShownCase[]): Readonly<Record<string, (one: ShownCase) => string>> {
  const [zone, ...others] = new Set(cases.map(({ timeZone }) => timeZone));
  const isOne = others.length === 0;
  return {
    ...COLUMNS,
    [isOne ? `LAST VISIT (${zone})` : "LAST VISIT"]: ({ lastVisitAt, timeZone }) => {
      if (lastVisitAt === null) return "";
      return [localMinute(lastVisitAt, timeZone), ...(isOne ? [] : [timeZone])].join(" ");
    },
  };
}

/** Returns a time in local time to the minute. */
function localMinute(at: string, timeZone: string): string {
  return timeIn(timeZone, new Date(at)).slice(0, "2026-11-20 18:00".length);
}

/** Reads a cursor of `case list`: the lender's code and the id of the last case of the previous page. */
function readPlace(text: string): PlaceInSearch {
  const [lenderCode = "", id = "", more] = text.split("/");
  const caseId = parsePublicId("case", id);
  if (/^[A-Z0-9]{2,16}$/.test(lenderCode) && caseId !== undefined && more === undefined) return { lenderCode, caseId };
  throw new InvalidArgumentError("Expected the nextCursor of a page.");
}
