import { casesOfLoan } from "@collections/cases";
import { publicId } from "@collections/database";
import { verifyBooks } from "@collections/flows";
import { type CaseStatement, statementOf } from "@collections/ledger";
import { toDecimal } from "@collections/money";
import { Command } from "commander";
import { EXIT, notFound } from "./refusal.ts";
import { answer, lenderNamed, table, withDatabase } from "./with-database.ts";

/** `ledger …`: what is owed, what was paid, and whether the books hold. */
export function ledgerCommand(): Command {
  const ledger = new Command("ledger").description("Statements, and the proof that the books hold.");
  ledger
    .command("statement")
    .argument("<lender>", "the lender's code")
    .argument("<loan>", "the lender's loan number")
    .description("Every line of a loan's account, over all its cycles.")
    .addHelpText("after", "\nExample:\n  pnpm collections ledger statement ACME LN-1001")
    .action((code: string, loan: string) => statement(code, loan));
  ledger
    .command("verify")
    .option("--lender <code>", "of this lender only")
    .description("Derive every balance, digest, sequence and total again and name what does not fit.")
    .addHelpText(
      "after",
      "\nExits with 1 when something does not fit.\n\nExample:\n  pnpm collections ledger verify --json",
    )
    .action(({ lender }: { lender?: string }) => verify(lender));
  return ledger;
}

async function statement(code: string, loan: string): Promise<void> {
  await withDatabase(async ({ em }) => {
    const lender = await lenderNamed(em(), code);
    const cases = await casesOfLoan(em(), lender.id, loan);
    if (cases.length === 0) throw notFound("loan", loan);
    const statements = await statementOf(em(), { lenderId: lender.id, caseIds: cases.map(({ id }) => id) });
    const cycles = cases.map(({ cycle, currency, status }, index) => ({
      cycle,
      currency,
      status,
      ...shown(statements[index]!, currency),
    }));
    const rows = cycles.flatMap(({ cycle, lines }) =>
      lines.map((line) => [String(cycle), line.at, line.kind, line.memo, line.debit, line.credit, line.balance]),
    );
    const text = table([["CYCLE", "AT", "KIND", "MEMO", "OWED MORE", "OWED LESS", "BALANCE"], ...rows]);
    answer({ lenderCode: lender.code, sourceLoanNumber: loan, cases: cycles }, text);
  });
}

function shown({ caseId, lines, totals }: CaseStatement, currency: Parameters<typeof toDecimal>[1]) {
  const decimal = (minor: bigint) => toDecimal(minor, currency);
  return {
    caseId: publicId("case", caseId),
    lines: lines.map((line) => ({
      sequence: Number(line.sequence),
      at: line.at.toISOString(),
      recordedAt: line.recordedAt.toISOString(),
      kind: line.kind,
      memo: line.memo,
      reference: line.reference,
      debit: decimal(line.debitMinor),
      credit: decimal(line.creditMinor),
      excess: decimal(line.excessMinor),
      balance: decimal(line.balanceMinor),
    })),
    totals: {
      placed: decimal(totals.placedMinor),
      adjusted: decimal(totals.adjustedMinor),
      corrected: decimal(totals.correctedMinor),
      collected: decimal(totals.collectedMinor),
      excess: decimal(totals.excessMinor),
      outstanding: decimal(totals.outstandingMinor),
    },
  };
}

async function verify(code: string | undefined): Promise<void> {
  await withDatabase(async ({ em }) => {
    const lender = code === undefined ? undefined : await lenderNamed(em(), code);
    const verdict = await verifyBooks(em(), {
      now: new Date(),
      ...(lender && { lenderId: lender.id }),
      onProgress: ({ lendersDone, lenders, check }) => {
        if (process.stderr.isTTY) process.stderr.write(`\r\x1b[Klender ${lendersDone + 1} of ${lenders}: ${check}`);
      },
    });
    if (process.stderr.isTTY) process.stderr.write("\r\x1b[K");
    const { ok, problems, totalProblems, counts } = verdict;
    const looked = `${counts.transfers} transfers, ${counts.bookings} bookings, ${counts.events} events`;
    const found = problems.map(({ code: problem, table: name, id, detail }) => `${problem} ${name} ${id}: ${detail}`);
    answer(
      verdict,
      ok ? `The books hold: ${looked}.` : [`${totalProblems} problems in ${looked}:`, ...found].join("\n"),
    );
    if (!ok) process.exitCode = EXIT.refused;
  });
}
