import { type CaseStatement, statementOf } from "@collections/bookings";
import { casesOfLoan } from "@collections/cases";
import { publicId } from "@collections/database";
import { toDecimal } from "@collections/money";
import { Command } from "commander";
import { anchorKeysCommand, verifyCommand } from "./ledger-verify.ts";
import { momentText } from "../terminal/local-time.ts";
import { notFound } from "../terminal/refusal.ts";
import { answer, lenderNamed, table, withDatabase } from "../terminal/with-database.ts";

/** `ledger …`: account statements, and the verification of the books. */
export function ledgerCommand(): Command {
  const ledger = new Command("ledger").description("Account statements, and the verification of the books.");
  ledger
    .command("statement")
    .argument("<lender>", "the lender's code")
    .argument("<loan>", "the lender's loan number")
    .description("Show every line of a loan's account, over all its cycles.")
    .addHelpText("after", "\nExample:\n  pnpm collections ledger statement ACME LN-1001")
    .action((code: string, loan: string) => statement(code, loan));
  ledger.addCommand(verifyCommand());
  ledger.addCommand(anchorKeysCommand());
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
      lines.map((line) => [
        String(cycle),
        momentText(new Date(line.at), lender.timeZone),
        line.kind,
        line.memo,
        line.debit,
        line.credit,
        line.balance,
      ]),
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
