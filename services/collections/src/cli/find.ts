import { maskedPhone } from "@collections/cases";
import { publicId } from "@collections/database";
import { find, type Finding } from "@collections/flows";
import { listLenders } from "@collections/lenders";
import { Command, InvalidArgumentError } from "commander";
import { amountText } from "./terminal/amount-text.ts";
import { formatOf, printPage } from "./terminal/page-options.ts";
import { readCount } from "./terminal/read-options.ts";
import { notFound } from "./terminal/refusal.ts";
import { endProgress, showProgress } from "./terminal/terminal.ts";
import { lenderNamed, withDatabase } from "./terminal/with-database.ts";
import { shellQuoted } from "./webhooks/curl-line.ts";

interface FindOptions {
  lender?: string;
  limit: number;
  csv?: true;
}

/** Something that was found, as `--json` shows it. */
interface ShownFinding {
  readonly kind: Finding["kind"];
  /** The lender's code; null for a field partner. */
  readonly lenderCode: string | null;
  /** A public id such as `case_…`, or the reference or link id. */
  readonly id: string;
  readonly sourceLoanNumber: string | null;
  readonly state: string;
  /** A short description for people: the borrower's name, an amount, the kind of an event, or the person's name. */
  readonly label: string;
  /** The arguments of the command that shows more. */
  readonly next: readonly string[];
}

const MAX_TEXT_CHARACTERS = 200;
const MAX_LIMIT = 100;

/** `find …`: find cases, payments, links, events and people by whatever is known of them. */
export function findCommand(): Command {
  return new Command("find")
    .argument("<text>", "an id, loan number, payment reference, link id, phone or name", readText)
    .option("--lender <code>", "search only this lender; by default all lenders")
    .option("--limit <count>", `the maximum number of results of each kind`, readCount(1, MAX_LIMIT), 20)
    .option("--csv", "print the results as CSV, for a spreadsheet")
    .description("Find what a text names: an id, a loan, a payment, a reversal, a link, a person or a borrower.")
    .addHelpText(
      "after",
      `
Finds ids (case_…, vis_…, evt_…, rec_…, fp_…), loan numbers or their ends, references of payments and reversals, link ids,
field partners by name, phone or last digits, and borrowers by the words of their names (whole, or at least the first three
letters). Each result names the next command.
At most --limit results of each kind are printed. The exit code is 3 if nothing is found.

Examples:
  pnpm collections find UTR402812345678
  pnpm collections find "asha rao" --lender ACME --json`,
    )
    .action((text: string, options: FindOptions) => run(text, options));
}

async function run(text: string, { lender: code, limit, csv }: FindOptions): Promise<void> {
  const format = formatOf({ csv });
  await withDatabase(async ({ em }) => {
    const lenders = code === undefined ? await listLenders(em()) : [await lenderNamed(em(), code)];
    const onProgress = (found: number) => showProgress(`Searching: ${found} cases found`);
    const findings = await find(em(), text, { lenders, limit, onProgress });
    endProgress();
    if (findings.length === 0) throw notFound("result for", text);
    const shown = findings.map(shownFinding);
    printPage(format, {
      name: "findings",
      items: shown,
      nextCursor: null,
      fields: ["kind", "lenderCode", "sourceLoanNumber", "id", "state", "label", "next"],
      columns: COLUMNS,
      none: "",
    });
  });
}

function shownFinding(finding: Finding): ShownFinding {
  if (finding.kind === "field_partner") {
    const { id, displayName, phone, state } = finding.fieldPartner;
    const personId = publicId("fp", id);
    return {
      kind: finding.kind,
      lenderCode: null,
      id: personId,
      sourceLoanNumber: null,
      state,
      label: `${displayName}, ${maskedPhone(phone)}`,
      next: ["field-partner", "show", personId],
    };
  }
  const { kind } = finding;
  const lenderCode = finding.lender.code;
  const ofLoan = (loan: string) => ({
    kind,
    lenderCode,
    sourceLoanNumber: loan,
    next: ["case", "show", lenderCode, loan],
  });
  switch (finding.kind) {
    case "case": {
      const { id, sourceLoanNumber, status, borrowerName } = finding.theCase;
      return { ...ofLoan(sourceLoanNumber), id: publicId("case", id), state: status, label: borrowerName };
    }
    case "visit": {
      const state = finding.hasEnded ? "ended" : "started";
      return { ...ofLoan(finding.loan), id: publicId("vis", finding.visitId), state, label: "" };
    }
    case "event": {
      const { eventId, stream, state, kind: label } = finding.delivery;
      const id = publicId("evt", eventId);
      return { ...ofLoan(stream), id, state, label, next: ["delivery", "show", id] };
    }
    case "reconciliation": {
      const id = publicId("rec", finding.runId);
      const next = ["payment", "reconciliation", lenderCode, id];
      return { kind, lenderCode, id, sourceLoanNumber: null, state: "stored", label: "", next };
    }
    case "payment": {
      const { sourceLoanNumber: loan, reference, amountMinor, currency } = finding.payment;
      const { remainingMinor } = finding;
      const state = remainingMinor === 0n ? "reversed" : remainingMinor < amountMinor ? "partly_reversed" : "booked";
      const next = ["payment", "show", lenderCode, loan, reference];
      return { ...ofLoan(loan), id: reference, state, label: amountText(amountMinor, currency), next };
    }
    case "reversal": {
      const { sourceLoanNumber: loan, reference, reversalReference, amountMinor, currency, reason } = finding.reversal;
      const next = ["payment", "show", lenderCode, loan, reference];
      const label = `${amountText(amountMinor, currency)} of ${reference}`;
      return { ...ofLoan(loan), id: reversalReference, state: reason, label, next };
    }
    case "link": {
      const { sourceLoanNumber, linkId, status, amountMinor, currency } = finding.link;
      const label = amountText(amountMinor, currency);
      return { ...ofLoan(sourceLoanNumber), id: linkId!, state: status, label };
    }
  }
}

const COLUMNS: Readonly<Record<string, (one: ShownFinding) => string>> = {
  KIND: ({ kind }) => kind.replaceAll("_", " "),
  LENDER: ({ lenderCode }) => lenderCode ?? "",
  LOAN: ({ sourceLoanNumber }) => sourceLoanNumber ?? "",
  ID: ({ id }) => id,
  STATE: ({ state }) => state.replaceAll("_", " "),
  "": ({ label }) => label,
  "SHOW MORE": ({ next }) => `pnpm collections ${next.map(argument).join(" ")}`,
};

/** Returns an argument as a POSIX shell reads it. */
function argument(text: string): string {
  return /^[\w./:@-]+$/.test(text) ? text : shellQuoted(text);
}

function readText(text: string): string {
  const found = text.normalize().trim();
  if (found.length >= 2 && found.length <= MAX_TEXT_CHARACTERS && !/[\p{Cc}\p{Cs}]/u.test(found)) return found;
  throw new InvalidArgumentError(`Expected 2 to ${MAX_TEXT_CHARACTERS} characters without control characters.`);
}
