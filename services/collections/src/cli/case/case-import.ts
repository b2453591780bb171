import { fileProgress, type FileProgress } from "@collections/cases";
import type { Lender } from "@collections/lenders";
import type { Command } from "commander";
import { basename } from "node:path";
import type { Reading } from "../../case-file/batches.ts";
import { CASE_COLUMNS, type Target } from "../../case-file/case-columns.ts";
import { fileKeyOf, type FileOutcome, importFile } from "../../case-file/import-file.ts";
import { refuseSimilarLoans } from "../../case-file/similar-loans.ts";
import type { FileOptions } from "../../table-file/lender-file.ts";
import { besideFile } from "../../table-file/rejected-file.ts";
import type { SurveyedFile } from "../../table-file/survey.ts";
import { importedBeforeText, missingAsOfText } from "../../desk/files/import-words.ts";
import { differenceText, shownDifference } from "./case-import-words.ts";
import { startProgress } from "./import-progress.ts";
import { withFileOptions, withLenderFile } from "../terminal/file-options.ts";
import { shownSurvey, surveyText } from "../terminal/file-words.ts";
import { momentText } from "../terminal/local-time.ts";
import { type LocalMoment, readPoint, readReason } from "../terminal/read-options.ts";
import { EXIT, Refusal } from "../terminal/refusal.ts";
import { confirm, tell } from "../terminal/terminal.ts";
import { answer, lenderNamed, type Operator, withDatabase } from "../terminal/with-database.ts";

interface ImportOptions extends FileOptions<Target> {
  lender: string;
  asOf?: LocalMoment;
  dryRun?: true;
  yes?: true;
  resume?: true;
  allowSimilarLoans?: true;
  reason?: string;
}

/** Adds the command `case import`. */
export function addImportCommand(command: Command): void {
  const added = command
    .command("import")
    .argument("<file>", "a CSV file or an Excel workbook (.xlsx) with a header")
    .requiredOption("--lender <code>", "the lender of the cases");
  withFileOptions(added, CASE_COLUMNS)
    .option(
      "--as-of <moment>",
      "the moment of the file's balances, in the lender's local time: \"2026-11-20 18:00\"",
      readPoint,
    )
    .option("--dry-run", "show the changes and apply nothing")
    .option("--yes", "apply without asking")
    .option("--allow-similar-loans", "create loans whose numbers differ from open loans only in leading zeros")
    .option("--resume", "continue an interrupted run of the same file")
    .option("--reason <text>", "the reason, for the audit log", readReason)
    .description("Import or update cases from a CSV file of any size, or from an Excel workbook.")
    .addHelpText(
      "after",
      `
Shows the changes that the file makes, asks for confirmation, and applies 1,000 rows at a time. Usual column names are known,
such as Loan No, Customer Name, Mob No, POS, EMI_AMT and DPD. If dates or amounts of a column contradict each other, nothing is
applied. New loan numbers that differ from open loans only in leading zeros, as 4711 and 0004711, stop the file, unless
--allow-similar-loans is given. Rejected rows are written with the reasons to FILE.rejected.csv, or to FILE.rejected-2.csv if that file exists, and the
exit code is 6. A column assignTo with the ids of field partners also assigns the cases; none unassigns. You may interrupt the import: importing the same file again is harmless, and --resume
skips the rows that have been applied.

Examples:
  pnpm collections case import cases.csv --lender ACME --dry-run
  pnpm collections case import cases.csv --lender ACME --map "Amount=outstandingAmount" --yes
  pnpm collections case import cases.xlsx --lender ACME --sheet November
  pnpm collections case import cases.csv --lender ACME --resume`,
    )
    .action((path: string, options: ImportOptions) => run(path, options));
}

async function run(path: string, options: ImportOptions): Promise<void> {
  const isForMachines = process.argv.includes("--json");
  if (options.dryRun && options.yes) throw notUnderstood("--dry-run changes nothing: remove --yes or --dry-run.");
  if (isForMachines && !options.dryRun && !options.yes)
    throw notUnderstood("--json needs --dry-run or --yes, because it cannot ask for confirmation.");
  await withDatabase(async (operator) => {
    const lender = await lenderNamed(operator.em(), options.lender);
    const asOf = options.asOf?.(lender.timeZone).toISOString();
    await withLenderFile(path, { names: CASE_COLUMNS, lender, options }, async (surveyed) => {
      const { columns, readings } = surveyed;
      await importInspected({ operator, lender, surveyed, reading: { columns, lender, readings, asOf }, options });
    });
  });
}

interface Inspected {
  readonly operator: Operator;
  readonly lender: Lender;
  readonly surveyed: SurveyedFile<Target>;
  readonly reading: Reading;
  readonly options: ImportOptions;
}

async function importInspected(inspected: Inspected): Promise<void> {
  const { operator, lender, surveyed, reading, options } = inspected;
  const { file } = surveyed;
  const earlier = await fileProgress(operator.em(), lender.id, fileKeyOf(file, reading));
  const from = options.resume ? earlier : undefined;
  const say = (text: string) => void (process.argv.includes("--json") || tell(text));
  say(surveyText(surveyed));
  const missingAsOf = missingAsOfText(reading.columns, reading.asOf);
  if (missingAsOf !== undefined) say(missingAsOf);
  if (earlier) say(earlierText(earlier, file.rows, { resumes: options.resume ?? false, timeZone: lender.timeZone }));
  if (!options.allowSimilarLoans) await refuseSimilarLoans(operator.em, lender.id, surveyed);
  if (options.yes) return finish(inspected, await runImport(inspected, { from, dryRun: false }), false);

  const rehearsed = await runImport(inspected, { from, dryRun: true });
  if (options.dryRun) return finish(inspected, rehearsed, true);
  say(differenceText(rehearsed, { lender, dryRun: true }));
  if (!(process.stdin.isTTY && process.stderr.isTTY)) {
    throw new Refusal("NOT_CONFIRMED", "Nothing was changed. Add --yes to apply the file.");
  }
  if (!(await confirm(`Apply the file to the cases of ${lender.code}, ${lender.name}?`)))
    throw new Refusal("NOT_CONFIRMED", "Nothing was changed.");
  finish(inspected, await runImport(inspected, { from, dryRun: false }), false);
}

async function runImport(
  { operator, lender, surveyed: { file }, reading, options: { reason } }: Inspected,
  { from, dryRun }: { from: FileProgress | undefined; dryRun: boolean },
): Promise<FileOutcome> {
  const progress = startProgress(file.rows, from?.rowsDone ?? 0);
  const { environment } = operator.config;
  const { em } = operator;
  const onProgress = progress.show;
  const places = { fileName: basename(file.path), rejectedPlace: besideFile(file.path) };
  const asked = { file, ...places, reading, lender, environment, dryRun, from, reason, em, onProgress };
  return importFile(asked).finally(progress.end);
}

function finish({ lender, surveyed }: Inspected, outcome: FileOutcome, dryRun: boolean): void {
  const json = { lenderCode: lender.code, dryRun, ...shownSurvey(surveyed), ...shownDifference(outcome) };
  answer(json, differenceText(outcome, { lender, dryRun }));
  const { rejected = 0, notAssigned = 0 } = outcome.tally.summary;
  if (rejected > 0 || notAssigned > 0) process.exitCode = EXIT.partly;
}

function earlierText(
  { rowsDone, startedAt, finishedAt }: FileProgress,
  rows: number,
  { resumes, timeZone }: { readonly resumes: boolean; readonly timeZone: string },
): string {
  if (finishedAt) return importedBeforeText(momentText(finishedAt, timeZone));
  const earlier = `An earlier run, begun ${momentText(startedAt, timeZone)}, has processed ${rowsDone} of ${rows} rows`;
  return resumes
    ? `${earlier}; this run continues after these rows.`
    : `${earlier}; with --resume, this run would continue after these rows.`;
}

function notUnderstood(detail: string): Refusal {
  return new Refusal("NOT_UNDERSTOOD", detail, EXIT.notUnderstood);
}
