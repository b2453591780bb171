import { newId, publicId } from "@collections/database";
import {
  KnownSequences,
  MAX_WINDOW_DAYS,
  reconcile,
  type Reconciliation,
  reconciliationOf,
  ReconciliationRunningError,
} from "@collections/flows";
import type { Lender } from "@collections/lenders";
import { type Span, spanOfDay } from "@collections/local-time";
import { type Command, InvalidArgumentError } from "commander";
import assert from "node:assert/strict";
import { basename } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { inspectPayments } from "../../payment-file/inspect-payments.ts";
import { PAYMENT_COLUMNS, type PaymentField } from "../../payment-file/payment-columns.ts";
import { paymentRowsOf, type PaymentReading } from "../../payment-file/payment-rows.ts";
import { writeRejectedPayments } from "../../payment-file/rejected-payments.ts";
import { type PaymentsInParts, paymentsInParts, summedParts } from "../../payment-file/summed-parts.ts";
import type { FileOptions } from "../../table-file/lender-file.ts";
import { besideFile } from "../../table-file/rejected-file.ts";
import type { SurveyedFile } from "../../table-file/survey.ts";
import { startProgress } from "../case/import-progress.ts";
import { counted } from "../../desk/counted.ts";
import { bookMissing } from "../../desk/money/book-missing.ts";
import { withFileOptions, withLenderFile } from "../terminal/file-options.ts";
import { shownSurvey, surveyText } from "../terminal/file-words.ts";
import { type LocalMoment, readDay, readPoint, readReason } from "../terminal/read-options.ts";
import { EXIT, Refusal } from "../terminal/refusal.ts";
import { confirm, tell } from "../terminal/terminal.ts";
import { answer, lenderNamed, type Operator, withDatabase } from "../terminal/with-database.ts";
import { confirmedText, MOST_IN_JSON, reconciliationText, shownReconciliation } from "./reconcile-words.ts";

interface ReconcileOptions extends FileOptions<PaymentField> {
  lender: string;
  day?: string;
  from?: LocalMoment;
  to?: LocalMoment;
  paidTime?: string;
  parts: number[];
  confirmMissing?: true;
  amountIsMajorUnits: number[];
  reason?: string;
  yes?: true;
}

/** How many differences of each list the command stores. */
const MOST_STORED = 1_000_000;
const DAY_MS = 86_400_000;
/** How long the command waits for another reconciliation before it tries again. */
const WAIT_MS = 1_000;

/** Adds the command `payment reconcile`. */
export function addReconcileCommand(command: Command): void {
  const added = command
    .command("reconcile")
    .argument("<file>", "a CSV file with a header and all payments of the window")
    .requiredOption("--lender <code>", "the lender of the payments")
    .option("--day <day>", "the day of the payments, in the lender's time zone: 2026-11-21", readDay)
    .option("--from <moment>", "the beginning of the window, in the lender's local time, instead of --day", readPoint)
    .option("--to <moment>", "the end of the window, which is not included", readPoint);
  withFileOptions(added, PAYMENT_COLUMNS)
    .option("--paid-time <time>", "the local time of payments whose cell has only a date, such as 12:00", readTimeOfDay)
    .option(
      "--parts <line>",
      "compare the sum of all lines with the loan and reference of this line, because they are parts of one payment; may be repeated",
      readLine,
      [],
    )
    .option("--confirm-missing", "book the payments that only the file has, after a question")
    .option(
      "--amount-is-major-units <line>",
      "with --confirm-missing: book this line although its amount is exactly 100 times what is owed; may be repeated",
      readLine,
      [],
    )
    .option("--reason <text>", "the reason for --confirm-missing, for the audit log", readReason)
    .option("--yes", "with --confirm-missing: book without asking")
    .description("Compare a lender's own payments with the booked payments.")
    .addHelpText(
      "after",
      `
The file has the columns loan, reference and amount, and may have paidAt and mode. Usual column names are known, such as Loan No,
UTR, Amount Paid and Payment Date. The result is stored, and running the same file again shows which differences are gone. No
payment is changed, except with --confirm-missing: then the payments that only the file has are booked like confirmations of the
lender, with the mode of the file, or other. A payment without a time is not booked, and neither is one that is probably booked
under another reference or on another loan. If the lender confirms it under another reference while the command asks, the row is
refused as REFERENCE_DIFFERS. Several lines with one loan and reference and different amounts are rejected as PARTS_NOT_CLEAR: if
they are parts of one payment, name one of them with --parts; otherwise give each its own reference in the file. Rejected
rows are written to a file beside the given one. You may interrupt the command: running it again is harmless. If there are
differences or rejected rows, the exit code is 6.

Examples:
  pnpm collections payment reconcile day.csv --lender ACME --day 2026-11-21
  pnpm collections payment reconcile day.csv --lender ACME --from "2026-11-21 00:00" --to "2026-11-21 12:00" --json
  pnpm collections payment reconcile day.csv --lender ACME --day 2026-11-21 --parts 17 --parts 40
  pnpm collections payment reconcile day.csv --lender ACME --day 2026-11-21 --confirm-missing --reason "lost by the gateway"`,
    )
    .action((path: string, options: ReconcileOptions) => run(path, options));
}

async function run(path: string, options: ReconcileOptions): Promise<void> {
  checkOptions(options);
  await withDatabase(async (operator) => {
    const lender = await lenderNamed(operator.em(), options.lender);
    const window = windowOf(options, lender.timeZone);
    const { paidTime } = options;
    await withLenderFile(path, { names: PAYMENT_COLUMNS, lender, options }, async (surveyed) => {
      if (!process.argv.includes("--json")) tell(surveyText(surveyed));
      const { file, columns, readings } = surveyed;
      const reading = { columns, lender, readings, paidTime };
      const { hasOnlyDates } = await inspectPayments(file, reading);
      const parts = await paymentsInParts(file, reading, options.parts);
      const compared = { operator, lender, runId: newId(), surveyed, parts, known: new KnownSequences() };
      const result = await compare(compared, { ...reading, hasOnlyDates }, window);
      const { onlyYours } = result.run.totals.lists;
      if (!options.confirmMissing || onlyYours === 0) return finish(compared, result);
      await confirmAfterQuestion(compared, result, options);
    });
  });
}

function checkOptions({ day, from, to, confirmMissing, amountIsMajorUnits, reason, yes }: ReconcileOptions): void {
  const hasOneWindow = day === undefined ? from !== undefined && to !== undefined : !from && !to;
  if (!hasOneWindow) throw notUnderstood("Give the window by --day, or by --from and --to.");
  if (confirmMissing && reason === undefined)
    throw notUnderstood("--confirm-missing needs a --reason for the audit log.");
  if (!confirmMissing && (yes || reason !== undefined || amountIsMajorUnits.length > 0))
    throw notUnderstood(
      "--yes, --reason and --amount-is-major-units belong to --confirm-missing: without it, no payment is booked.",
    );
  if (confirmMissing && !yes && process.argv.includes("--json"))
    throw notUnderstood("--json with --confirm-missing needs --yes, because it cannot ask for confirmation.");
}

function windowOf({ day, from, to }: ReconcileOptions, timeZone: string): Span {
  const window = day === undefined ? { from: from!(timeZone), to: to!(timeZone) } : spanOfDay(day, timeZone);
  const lengthMs = window.to.getTime() - window.from.getTime();
  if (lengthMs > 0 && lengthMs <= MAX_WINDOW_DAYS * DAY_MS) return window;
  throw notUnderstood(`--to takes a time after --from, and at most ${MAX_WINDOW_DAYS} days later.`);
}

interface Compared {
  readonly operator: Operator;
  readonly lender: Lender;
  readonly runId: string;
  readonly surveyed: SurveyedFile<PaymentField>;
  readonly parts: PaymentsInParts;
  readonly known: KnownSequences;
}

async function compare(
  { operator, lender, runId, surveyed: { file }, parts, known }: Compared,
  reading: PaymentReading,
  window: Span,
) {
  const request = {
    lender,
    runId,
    requestedBy: "operator",
    fileName: basename(file.path),
    window,
    mostPerList: MOST_STORED,
    known,
    audited: { runId: publicId("rec", runId), file: basename(file.path), sha256: file.sha256, ...window },
  };
  await afterOthers(lender, async () => {
    const progress = startProgress(file.rows, 0);
    const rows = summedParts(paymentRowsOf(file, reading), parts);
    await reconcile(operator.em(), { ...request, rows, onProgress: progress.show }).finally(progress.end);
  });
  const run = { lenderId: lender.id, runId };
  const result = await reconciliationOf(operator.em(), run, MOST_IN_JSON);
  assert.ok(result, "The run is stored, and runs are deleted only after 90 days.");
  return { ...result, rejectedPath: await writeRejectedPayments(operator.em(), run, file, besideFile(file.path)) };
}

/** Runs a reconciliation when no other one of the lender is running. */
async function afterOthers({ code }: Lender, run: () => Promise<void>): Promise<void> {
  for (let isTold = false; ; isTold = true) {
    try {
      return await run();
    } catch (error) {
      if (!(error instanceof ReconciliationRunningError)) throw error;
      if (!isTold) tell(`Another reconciliation of ${code} is running. Waiting until it has ended.`);
      await delay(WAIT_MS);
    }
  }
}

/** The result of a run, and the path of the file with its rejected rows. */
type Result = Reconciliation & { readonly rejectedPath: string | undefined };

function finish({ lender, surveyed }: Compared, result: Result): void {
  const { rejectedPath = null } = result;
  const json = { ...shownReconciliation(lender, result), rejectedFile: rejectedPath, file: shownSurvey(surveyed) };
  answer(json, resultText(lender, result));
  if (isDifferent(result)) process.exitCode = EXIT.partly;
}

function resultText(lender: Lender, result: Result): string {
  const { rejectedPath } = result;
  const rejected = rejectedPath === undefined ? "" : `\nAll rejected rows, with the reasons: ${rejectedPath}`;
  return `${reconciliationText(lender, result)}${rejected}`;
}

async function confirmAfterQuestion(
  { operator, lender, runId, surveyed, known }: Compared,
  result: Result,
  { amountIsMajorUnits, parts, reason, yes }: ReconcileOptions,
): Promise<void> {
  const { digest, totals } = result.run;
  const { onlyYours } = totals.lists;
  if (!yes) {
    tell(resultText(lender, result));
    if (!(process.stdin.isTTY && process.stderr.isTTY))
      throw new Refusal("NOT_CONFIRMED", "No payment was booked. Add --yes to book the missing payments.");
    if (!(await confirm(`Book ${counted(onlyYours, "payment")} of ${lender.code}, ${lender.name}?`)))
      throw new Refusal("NOT_CONFIRMED", "No payment was booked.");
  }
  const { file } = surveyed;
  const confirmed = await bookMissing(
    () => operator.em(),
    {
      lender,
      runId,
      digest,
      missing: onlyYours,
      reason,
      file: { file: basename(file.path), sha256: file.sha256, ...(parts.length > 0 && { parts }) },
      known,
      inMajorUnits: new Set(amountIsMajorUnits),
      environment: operator.config.environment,
    },
    { mostRefused: MOST_IN_JSON },
  );
  answer(
    {
      ...shownReconciliation(lender, result),
      rejectedFile: result.rejectedPath ?? null,
      file: shownSurvey(surveyed),
      confirmed,
    },
    [...(yes ? [resultText(lender, result), ""] : []), confirmedText(confirmed)].join("\n"),
  );
  if (confirmed.refusedCount > 0 || isDifferent(result, { exceptOnlyYours: true })) process.exitCode = EXIT.partly;
}

function isDifferent({ run }: Reconciliation, { exceptOnlyYours = false } = {}): boolean {
  return Object.entries(run.totals.lists).some(
    ([list, count]) => count > 0 && !(exceptOnlyYours && list === "onlyYours"),
  );
}

function readLine(text: string, before: number[]): number[] {
  if (/^[1-9]\d{0,8}$/.test(text)) return [...before, Number(text)];
  throw new InvalidArgumentError("Expected the number of a line of the file.");
}

function readTimeOfDay(text: string): string {
  if (/^(?:[01]\d|2[0-3]):[0-5]\d$/.test(text)) return text;
  throw new InvalidArgumentError("Expected a time of day such as 12:00.");
}

function notUnderstood(detail: string): Refusal {
  return new Refusal("NOT_UNDERSTOOD", detail, EXIT.notUnderstood);
}
