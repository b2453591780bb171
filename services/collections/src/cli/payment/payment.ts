import { REVERSAL_REASONS, type ReversalReason } from "@collections/bookings";
import { hasInvisible } from "@collections/cases";
import type { EntityManager } from "@collections/entities";
import {
  movePayment,
  type MoveOutcome,
  paymentHistory,
  type ReversalOptions,
  type ReversalOutcome,
  reversePayment,
} from "@collections/flows";
import type { Lender } from "@collections/lenders";
import { AmountLiteral } from "@collections/money";
import { Command, InvalidArgumentError, Option } from "commander";
import { shownHistory, historyText } from "./payment-history-words.ts";
import { addReconcileCommand } from "./payment-reconcile.ts";
import { addStoredReconciliationCommands } from "./stored-reconciliations.ts";
import { moveText, reversalText, shownMove, shownReversal } from "./payment-words.ts";
import { type LocalMoment, readPoint, readReason, readSum } from "../terminal/read-options.ts";
import { EXIT, notFound, Refusal } from "../terminal/refusal.ts";
import { confirm, tell } from "../terminal/terminal.ts";
import { answer, lenderNamed, loanNamed, type Operator, withDatabase } from "../terminal/with-database.ts";

const REFERENCE_CHARACTERS = 128;
const NOTE_CHARACTERS = 500;
/** The codes of refusals that are caused by a wrong argument. All other refusals are caused by the state of the books. */
const WRONG_ARGUMENTS = new Set(["INVALID_TEXT", "AMOUNT_PRECISION", "AMOUNT_OUT_OF_RANGE", "SAME_LOAN"]);

interface Asking {
  dryRun?: true;
  yes?: true;
}

interface ReverseOptions extends Asking {
  reversalReference: string;
  reversedAt: LocalMoment;
  amount?: string;
  reason: ReversalReason;
  note?: string;
}

interface MoveOptions extends Asking {
  to: string;
  reason: string;
  reversalReference?: string;
  reversedAt?: LocalMoment;
}

interface PaymentArgs {
  readonly code: string;
  readonly loan: string;
  readonly reference: string;
}

/**
 * `payment …`: shows payments, reverses them, moves them to another loan, compares them with a lender's file, and shows
 * earlier comparisons.
 */
export function paymentCommand(): Command {
  const command = new Command("payment").description("Show, reverse, move and reconcile confirmed payments.");
  ofPayment(command, "show")
    .description("Show a payment with its reversals, earnings, links and events.")
    .addHelpText("after", "\nExample:\n  pnpm collections payment show ACME LN-1001 UTR402812345678")
    .action((code: string, loan: string, reference: string) => show({ code, loan, reference }));
  addReverseCommand(command);
  addMoveCommand(command);
  addReconcileCommand(command);
  addStoredReconciliationCommands(command);
  return command;
}

function addReverseCommand(command: Command): void {
  ofPayment(command, "reverse")
    .requiredOption(
      "--reversal-reference <text>",
      "the lender's id of the reversal, which identifies it",
      readReference,
    )
    .requiredOption("--reversed-at <moment>", 'when the money was returned, such as "2026-11-24 15:30"', readPoint)
    .option(
      "--amount <sum>",
      "the returned amount, such as 1250.50; by default all that is left of the payment",
      readSum,
    )
    .addOption(
      new Option("--reason <reason>", "why the payment is reversed; the lender sees it")
        .choices(REVERSAL_REASONS)
        .makeOptionMandatory(),
    )
    .option("--note <text>", "a note for the books and the audit log, without personal data", readNote)
    .option("--dry-run", "show every effect and change nothing")
    .option("--yes", "reverse without asking")
    .description("Take a confirmed payment back, or a part of it.")
    .addHelpText(
      "after",
      `
Shows every effect, asks for confirmation, and reverses the payment as POST payments/reverse does. The lender gets the event
payment.reversed. The same command again changes nothing and prints the recorded reversal. A reversal cannot be undone: if it
was wrong, confirm the payment again under another reference.

Examples:
  pnpm collections payment reverse ACME LN-1001 UTR402812345678 --reversal-reference RV-77 \\
    --reversed-at "2026-11-24 15:30" --reason bounced --dry-run
  pnpm collections payment reverse ACME LN-1001 UTR402812345678 --reversal-reference RV-77 \\
    --reversed-at "2026-11-24 15:30" --reason bounced --amount 500 --note "cheque 1187, told by Acme on the phone"`,
    )
    .action((code: string, loan: string, reference: string, options: ReverseOptions) =>
      reverse({ code, loan, reference }, options),
    );
}

function addMoveCommand(command: Command): void {
  ofPayment(command, "move")
    .requiredOption("--to <loan>", "the loan to which the payment belongs")
    .requiredOption("--reason <text>", "the reason, for the audit log", readReason)
    .option("--reversal-reference <text>", "the id of the reversal; move-REFERENCE by default", readReference)
    .option("--reversed-at <moment>", "when the payment stops counting on the wrong loan; now by default", readPoint)
    .option("--dry-run", "show every effect and change nothing")
    .option("--yes", "move without asking")
    .description("Move a payment that was confirmed on the wrong loan to the right loan.")
    .addHelpText(
      "after",
      `
Reverses all that is left of the payment with the reason wrong_loan, and confirms the same reference on the other loan, both
or neither. Shows every effect and asks for confirmation. The same command again changes nothing.

Example:
  pnpm collections payment move ACME LN-1001 UTR402812345678 --to LN-1002 --reason "asked by Acme" --dry-run`,
    )
    .action((code: string, loan: string, reference: string, options: MoveOptions) =>
      move({ code, loan, reference }, options),
    );
}

function ofPayment(command: Command, name: string): Command {
  return command
    .command(name)
    .argument("<lender>", "the lender's code")
    .argument("<loan>", "the lender's loan number")
    .argument("<reference>", "the lender's reference of the payment");
}

async function show({ code, loan, reference }: PaymentArgs): Promise<void> {
  await withDatabase(async ({ em }) => {
    const lender = await lenderNamed(em(), code);
    const history = await paymentHistory(em(), await nameOf(em(), lender, { code, loan, reference }));
    if (!history) throw notFound("payment", reference);
    const shown = await shownHistory(em(), lender, history);
    answer(shown, historyText(shown, lender.timeZone));
  });
}

async function reverse(payment: PaymentArgs, options: ReverseOptions): Promise<void> {
  checkAsking(options);
  await withDatabase(async (operator) => {
    const { em, config } = operator;
    const lender = await lenderNamed(em(), payment.code);
    const { reversalReference, reason, note = null, amount } = options;
    const request = {
      ...(await nameOf(em(), lender, payment)),
      reversalReference,
      reversedAt: options.reversedAt(lender.timeZone),
      amount: amount === undefined ? null : new AmountLiteral(amount),
      reason,
      note,
      warnings: [],
      acceptedAt: new Date(),
    };
    const auditReason = note === null ? reason : `${reason}: ${note}`;
    const run = async ({ dryRun }: ReversalOptions) => {
      const outcome = await reversePayment(em(), request, config.environment, { dryRun: dryRun === true, auditReason });
      if (outcome.kind === "refused") throw refusalOf(outcome, payment);
      if (outcome.kind === "duplicate" && outcome.differences.length > 0) throw anotherReversal(outcome);
      return outcome;
    };
    await afterQuestion(options, run, {
      question: "Reverse this payment?",
      changes: (outcome) => outcome.kind === "reversed",
      print: async (outcome, dryRun) => {
        const shown = await shownReversal(em(), lender, outcome, dryRun);
        return { json: shown, text: reversalText(shown, lender.timeZone) };
      },
    });
  });
}

async function move(payment: PaymentArgs, options: MoveOptions): Promise<void> {
  checkAsking(options);
  await withDatabase(async (operator: Operator) => {
    const { em, config } = operator;
    const lender = await lenderNamed(em(), payment.code);
    const now = new Date();
    const request = {
      ...(await nameOf(em(), lender, payment)),
      toLoan: await loanNamed(em(), lender, options.to),
      reversalReference: options.reversalReference ?? readMoveReference(payment.reference),
      reversedAt: options.reversedAt?.(lender.timeZone) ?? now,
      note: null,
      warnings: [],
      acceptedAt: now,
    };
    const run = async ({ dryRun }: ReversalOptions) => {
      const more = { dryRun: dryRun === true, auditReason: options.reason };
      const outcome = await movePayment(em(), request, config.environment, more);
      if (outcome.kind === "refused") throw refusalOf(outcome, payment, options.to);
      return outcome;
    };
    await afterQuestion(options, run, {
      question: `Move this payment to ${options.to}?`,
      changes: ({ effects, confirmed }) => effects !== undefined || confirmed !== undefined,
      print: async (outcome, dryRun) => {
        const shown = await shownMove(em(), lender, outcome, dryRun);
        return { json: shown, text: moveText(shown, lender.timeZone) };
      },
    });
  });
}

async function nameOf(em: EntityManager, lender: Lender, { loan, reference }: PaymentArgs) {
  return { lender, loan: await loanNamed(em, lender, loan), reference: reference.trim() };
}

interface Act<Outcome> {
  readonly question: string;
  /** Whether the command would change anything, by the outcome of its dry run. If not, no question is asked. */
  changes(outcome: Outcome): boolean;
  print(outcome: Outcome, dryRun: boolean): Promise<{ readonly json: object; readonly text: string }>;
}

/** Shows the effects of a dry run, asks, and runs the act. With `--yes` it runs the act at once. */
async function afterQuestion<Outcome>(
  { dryRun = false, yes = false }: { readonly dryRun?: boolean; readonly yes?: boolean },
  run: (options: ReversalOptions) => Promise<Outcome>,
  { question, changes, print }: Act<Outcome>,
): Promise<void> {
  if (!yes) {
    const rehearsed = await run({ dryRun: true });
    const { json, text } = await print(rehearsed, true);
    if (dryRun || !changes(rehearsed)) return answer(json, text);
    tell(text);
    if (!(await confirm(question)))
      throw new Refusal("NOT_CONFIRMED", "Nothing was changed. Add --yes to skip the question.");
  }
  const { json, text } = await print(await run({}), false);
  answer(json, text);
}

function checkAsking({ dryRun, yes }: Asking): void {
  if (dryRun && yes) throw notUnderstood("--dry-run changes nothing: remove --yes or --dry-run.");
  if (process.argv.includes("--json") && !dryRun && !yes)
    throw notUnderstood("--json needs --dry-run or --yes, because it cannot ask for confirmation.");
}

function refusalOf(
  { code, detail, ...more }: Extract<ReversalOutcome | MoveOutcome, { kind: "refused" }>,
  { loan, reference }: PaymentArgs,
  toLoan: string = loan,
): Refusal {
  const isOnRightLoan = "step" in more && more.step === "confirm";
  if (code === "LOAN_NOT_FOUND") return notFound("loan", isOnRightLoan ? toLoan : loan);
  if (code === "PAYMENT_NOT_FOUND") return notFound("payment", reference);
  return new Refusal(code, detail, WRONG_ARGUMENTS.has(code) ? EXIT.notUnderstood : EXIT.refused);
}

function anotherReversal({ original, differences }: Extract<ReversalOutcome, { kind: "duplicate" }>): Refusal {
  const known = `${original.reversalReference} is recorded already, with another ${differences.join(", ")}`;
  return new Refusal("DUPLICATE_REVERSAL", `The reversal ${known}; see payment show. Nothing was changed.`);
}

function readMoveReference(reference: string): string {
  const made = `move-${reference.trim()}`;
  if (made.length <= REFERENCE_CHARACTERS) return made;
  throw notUnderstood(`The reference is too long for move-REFERENCE: add --reversal-reference.`);
}

function readReference(text: string): string {
  return textUpTo(REFERENCE_CHARACTERS, text);
}

function readNote(text: string): string {
  return textUpTo(NOTE_CHARACTERS, text);
}

function textUpTo(characters: number, text: string): string {
  const trimmed = text.trim();
  if (trimmed !== "" && trimmed.length <= characters && !hasInvisible(trimmed)) return trimmed;
  throw new InvalidArgumentError(`Expected 1 to ${characters} characters without control or invisible characters.`);
}

function notUnderstood(detail: string): Refusal {
  return new Refusal("NOT_UNDERSTOOD", detail, EXIT.notUnderstood);
}
