import { hasSeveralForms, storedLoanNumbers } from "@collections/cases";
import { publicId } from "@collections/database";
import { fieldPartnerById } from "@collections/field-partners";
import { assignCase, assignCases, type CaseMove, MAX_MOVES, SPREAD_RULES, type SpreadRule } from "@collections/flows";
import type { Lender } from "@collections/lenders";
import { type Command, InvalidArgumentError, Option } from "commander";
import { MOVE_COLUMNS, type MoveField, type MoveLine, movesOf } from "../../case-file/move-file.ts";
import type { TableOptions } from "../../table-file/lender-file.ts";
import { openRejectedFile, type RejectedFile } from "../../table-file/rejected-file.ts";
import type { SurveyedFile } from "../../table-file/survey.ts";
import type { ReadFile } from "../../table-file/table-file.ts";
import { withLenderFile, withTableOptions } from "../terminal/file-options.ts";
import { surveyText } from "../terminal/file-words.ts";
import { readReason } from "../terminal/read-options.ts";
import { EXIT, notFound, Refusal } from "../terminal/refusal.ts";
import { confirm, endProgress, showProgress, tell } from "../terminal/terminal.ts";
import { answer, idOf, lenderNamed, loanNamed, type Operator, withDatabase } from "../terminal/with-database.ts";
import { MoveTally, shownAssignment } from "../../desk/moves/move-tally.ts";
import { CASES_OF_HOLDER, plannedMoves, UNBLOCKED } from "../../desk/moves/move-plan.ts";
import { assignmentText } from "./case-assign-words.ts";
import { tellOutcome } from "./case-outcome.ts";
import { caseSearchOf, type CaseSearchOptions, withCaseSearchOptions } from "./case-search-options.ts";
import { counted } from "../../desk/counted.ts";

interface AssignOptions extends CaseSearchOptions, TableOptions<MoveField> {
  file?: string;
  from?: string;
  to?: string;
  spread?: string[];
  by?: SpreadRule;
  dryRun?: true;
  yes?: true;
  reason?: string;
}

/** A line of a file of moves, or the move of a case that was searched. */
type PlannedLine = MoveLine | { readonly move: CaseMove };

/** Moves in the order in which they are applied. */
interface MovePlan {
  /** Yields each line or case once. It can be read again for the run after a dry run. */
  lines(): AsyncIterable<PlannedLine> | Iterable<PlannedLine>;
  /** The file of moves; undefined if the moves come from a search. */
  readonly file: ReadFile | undefined;
}

/** Adds `case assign`, for one case or for many, to the commands of cases. */
export function addAssignCommand(command: Command): void {
  const assign = command
    .command("assign")
    .argument("<lender>", "the lender's code")
    .argument("[loan]", "the lender's loan number, to assign one case")
    .argument("[field-partner-id]", "the person who will visit the borrower")
    .option("--file <file>", "assign the cases of a CSV file or an Excel workbook with the columns loan and assignTo")
    .option("--from <field-partner-id>", "assign the cases that this person has; needs --to")
    .option("--to <field-partner-id>", "the person who gets the cases of --from")
    .option("--spread <ids>", "spread cases over these people, separated by commas; needs --by", readIds)
    .addOption(new Option("--by <rule>", "what --spread evens out").choices(SPREAD_RULES));
  withTableOptions(withCaseSearchOptions(assign), MOVE_COLUMNS)
    .option("--dry-run", "show who would get how many cases, and change nothing")
    .option("--yes", "assign many cases without asking")
    .option("--reason <text>", "the reason, for the audit log", readReason)
    .description("Assign one case or many to field partners, even if other field partners have them.")
    .addHelpText(
      "after",
      `
A file is read as case import reads it: usual column names are known, and titles above the header and totals are skipped.

Many cases: --file, --from with --to, or --spread with --by. The last two take the options of case list to select cases;
--spread takes unassigned cases, unless --holder is given. --by amount evens out the number of cases and their sum;
--by postal-code gives all cases of a postal code to one person, the one who has most of its cases already.
In a file, none in the column assignTo unassigns a case.

The command shows who gets how many cases, asks for confirmation, and assigns ${MAX_MOVES} cases at a time. You may interrupt it
and run it again: a case that its new field partner already has stays unchanged. Refused lines of a file are
written to FILE.rejected.csv with the reasons, or to FILE.rejected-2.csv if that file exists, and the exit code is 6. Without
--file, refused cases are written to moves-LENDER.rejected.csv in the current folder, with the columns of a file.

Examples:
  pnpm collections case assign ACME LN-1001 fp_0192…
  pnpm collections case assign ACME --file moves.csv --dry-run
  pnpm collections case assign ACME --from fp_0192… --to fp_0193… --reason "Asha has left"
  pnpm collections case assign ACME --spread fp_0192…,fp_0193… --by postal-code --branch PUNE-1 --yes`,
    )
    .action((code: string, loan: string | undefined, holder: string | undefined, options: AssignOptions) =>
      loan === undefined ? assignMany(code, options) : assignOne({ code, loan, holder }, options),
    );
}

interface OneCase {
  readonly code: string;
  readonly loan: string;
  readonly holder: string | undefined;
}

async function assignOne({ code, loan, holder }: OneCase, { reason, map, ...others }: AssignOptions): Promise<void> {
  const [other] = Object.keys(others);
  if (other !== undefined || map.length > 0)
    throw notUnderstood("A loan cannot be combined with options for many cases: remove the loan, or these options.");
  if (holder === undefined) throw notUnderstood("Give the id of the field partner after the loan.");
  await withDatabase(async ({ config, em }) => {
    const fieldPartnerId = idOf("fp", "field partner", holder);
    const lender = await lenderNamed(em(), code);
    const stored = await loanNamed(em(), lender, loan);
    const order = { lender, loan: stored, reason: reason ?? null, fieldPartnerId };
    tellOutcome(await assignCase(em(), order, config.environment), { loan, holder });
  });
}

async function assignMany(code: string, options: AssignOptions): Promise<void> {
  checkOptions(options);
  await withDatabase(async (operator) => {
    const lender = await lenderNamed(operator.em(), code);
    const { file } = options;
    if (file === undefined) {
      return rehearseAndApply({ operator, lender, plan: await searchedPlan(operator, lender, options) }, options);
    }
    return withLenderFile(file, { names: MOVE_COLUMNS, lender, options }, (surveyed) => {
      if (!process.argv.includes("--json")) tell(surveyText(surveyed));
      return rehearseAndApply({ operator, lender, plan: filePlan(surveyed) }, options);
    });
  });
}

async function rehearseAndApply(planned: Omit<PlannedRun, "reason">, options: AssignOptions): Promise<void> {
  const { lender, plan } = planned;
  const run = (dryRun: boolean) => applyPlan({ ...planned, reason: options.reason ?? null }, dryRun);
  if (options.yes) return finish(lender, await run(false), false);
  const rehearsed = await run(true);
  if (options.dryRun) return finish(lender, rehearsed, true);
  tell(assignmentText(lender, rehearsed, true));
  if (!(process.stdin.isTTY && process.stderr.isTTY)) {
    throw new Refusal("NOT_CONFIRMED", "Nothing was changed. Add --yes to assign the cases.");
  }
  if (!(await confirm(`Assign these cases of ${lender.code}, ${lender.name}?`)))
    throw new Refusal("NOT_CONFIRMED", "Nothing was changed.");
  await plan.file?.bytes.verify();
  finish(lender, await run(false), false);
}

function checkOptions({
  file,
  from,
  to,
  spread,
  by,
  dryRun,
  yes,
  reason: _reason,
  map,
  encoding,
  separator,
  headerLine,
  sheet,
  ...search
}: AssignOptions): void {
  const ways = [file, from, spread].filter((given) => given !== undefined).length;
  if (ways !== 1) throw notUnderstood("Give a loan and a field partner, or one of --file, --from and --spread.");
  if ((from === undefined) !== (to === undefined)) throw notUnderstood("--from and --to belong together.");
  if ((spread === undefined) !== (by === undefined)) throw notUnderstood("--spread and --by belong together.");
  const isOfFile = [encoding, separator, headerLine, sheet].some((given) => given !== undefined) || map.length > 0;
  if (file === undefined && isOfFile) {
    throw notUnderstood("--map, --encoding, --separator, --header-line and --sheet belong to --file.");
  }
  if (file !== undefined && Object.keys(search).length > 0)
    throw notUnderstood("--file names the cases: remove the options that select cases.");
  if (from !== undefined && search.holder !== undefined)
    throw notUnderstood("--from already selects the cases of a person: remove --holder.");
  if (dryRun && yes) throw notUnderstood("--dry-run changes nothing: remove --yes or --dry-run.");
  if (process.argv.includes("--json") && !dryRun && !yes)
    throw notUnderstood("--json needs --dry-run or --yes, because it cannot ask for confirmation.");
}

function filePlan(surveyed: SurveyedFile<MoveField>): MovePlan {
  return { lines: () => movesOf(surveyed), file: surveyed.file };
}

/** Plans the moves of `--from` or `--spread`. Searches the cases once, so that the run does what the dry run showed. */
async function searchedPlan(operator: Operator, lender: Lender, options: AssignOptions): Promise<MovePlan> {
  const { from, to, spread, by } = options;
  const people: string[] = [];
  for (const given of spread ?? [to!]) people.push(await activePerson(operator, given));
  if (new Set(people).size < people.length) throw notUnderstood("--spread names a field partner twice.");
  const holder = from ?? options.holder ?? "none";
  // A case on hold cannot be assigned. If a field partner holds the case, show it as refused, so that it is not forgotten.
  const status = options.status ?? (holder === "none" ? [...UNBLOCKED] : [...CASES_OF_HOLDER]);
  const search = caseSearchOf({ ...options, holder, status }, lender.timeZone);
  const onProgress = (found: number) => showProgress(`Searching: found ${counted(found, "case")}`);
  const moves = await plannedMoves(operator.em(), lender, { search, people, by, onProgress });
  endProgress();
  const lines = moves.map((move) => ({ move }));
  return { lines: () => lines, file: undefined };
}

/** Returns the id of a field partner. Throws a Refusal if there is none, or if this person is suspended. */
async function activePerson({ em }: Operator, given: string): Promise<string> {
  const person = await fieldPartnerById(em(), idOf("fp", "field partner", given));
  if (!person) throw notFound("field partner", given);
  if (person.state === "active") return person.id;
  const detail = `Field partner ${given} is suspended: choose another field partner, or resume this one first.`;
  throw new Refusal("FIELD_PARTNER_SUSPENDED", detail);
}

interface PlannedRun {
  readonly operator: Operator;
  readonly lender: Lender;
  readonly plan: MovePlan;
  readonly reason: string | null;
}

/** Applies a plan in transactions of limited size, or finds out in a dry run what it would do. */
async function applyPlan(planned: PlannedRun, dryRun: boolean): Promise<MoveTally> {
  const { file = searchedFile(planned.lender) } = planned.plan;
  const rejectedFile = dryRun ? undefined : await openRejectedFile(file.path, { ...file, bytes: 0 });
  const tally = new MoveTally();
  try {
    let batch: PlannedLine[] = [];
    for await (const line of planned.plan.lines()) {
      batch.push(line);
      if (batch.length < MAX_MOVES) continue;
      await applyBatch(planned, batch, { dryRun, tally, rejectedFile });
      batch = [];
    }
    await applyBatch(planned, batch, { dryRun, tally, rejectedFile });
  } finally {
    await rejectedFile?.close();
    endProgress();
  }
  await tally.nameThePeople(planned.operator.em());
  if (rejectedFile?.path !== undefined) tally.rejectedPath = rejectedFile.path;
  return tally;
}

/** The name, header and separator of a file with the moves of a search. Its rejected lines can be given to `--file`. */
function searchedFile({ code }: Lender) {
  return { path: `moves-${code}.csv`, header: ["loan", "assignTo"], separator: "," };
}

interface Applying {
  readonly dryRun: boolean;
  readonly tally: MoveTally;
  readonly rejectedFile: RejectedFile | undefined;
}

async function applyBatch(
  { operator, lender, reason }: PlannedRun,
  batch: readonly PlannedLine[],
  { dryRun, tally, rejectedFile }: Applying,
): Promise<void> {
  const planned = batch.flatMap((line) => ("move" in line ? [line.move] : []));
  const given = planned.map(({ loan }) => loan).filter(hasSeveralForms);
  const stored = await storedLoanNumbers(operator.em(), lender.id, given);
  const moves = planned.map((move) => ({ ...move, loan: stored.get(move.loan) ?? move.loan }));
  const order = { lender, moves, reason, dryRun };
  const outcomes = moves.length === 0 ? [] : await assignCases(operator.em(), order, operator.config.environment);
  let place = 0;
  const rejected = batch.flatMap((line) => {
    const outcome = "move" in line ? outcomes[place++]! : { kind: "refused" as const, ...line };
    const loan = "move" in line ? line.move.loan : line.loan;
    tally.add(loan, outcome);
    if (outcome.kind !== "refused") return [];
    const because = outcome.detail;
    if ("record" in line) return [{ line: line.record.line, cells: line.record.cells, because }];
    return [{ line: tally.done, cells: cellsOf(line), because }];
  });
  await rejectedFile?.write(rejectedFile.bytes, rejected);
  showProgress(`${counted(tally.done, "case")} ${dryRun ? "checked" : "processed"}`);
}

/** Returns the cells of a searched move: the loan, and who should have got its case. */
function cellsOf(line: PlannedLine): string[] {
  if (!("move" in line)) return [line.loan ?? "", ""];
  const { loan, fieldPartnerId } = line.move;
  return [loan, fieldPartnerId === null ? "none" : publicId("fp", fieldPartnerId)];
}

function finish(lender: Lender, tally: MoveTally, dryRun: boolean): void {
  answer(shownAssignment(lender, tally, dryRun), assignmentText(lender, tally, dryRun));
  if (tally.rejected.length > 0) process.exitCode = EXIT.partly;
}

function readIds(text: string): string[] {
  const ids = text.split(",").map((id) => id.trim());
  if (!ids.includes("")) return ids;
  throw new InvalidArgumentError("Expected ids of field partners, separated by commas.");
}

function notUnderstood(detail: string): Refusal {
  return new Refusal("NOT_UNDERSTOOD", detail, EXIT.notUnderstood);
}
