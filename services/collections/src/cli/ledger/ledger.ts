import { type CaseStatement, collectionsLedger, statementOf } from "@collections/bookings";
import { casesOfLoan } from "@collections/cases";
import { publicId, transaction } from "@collections/database";
import { listLenders, recordAct } from "@collections/lenders";
import { grouped, toDecimal } from "@collections/money";
import { Command } from "commander";
import { feesCommand } from "./fees.ts";
import { anchorKeysCommand, verifyCommand } from "./ledger-verify.ts";
import { momentText } from "../terminal/local-time.ts";
import { formatOf, type PageFormat, printPage } from "../terminal/page-options.ts";
import { readReason } from "../terminal/read-options.ts";
import { notFound } from "../terminal/refusal.ts";
import { endProgress, showProgress } from "../terminal/terminal.ts";
import { answer, lenderNamed, table, withDatabase } from "../terminal/with-database.ts";

/** `ledger …`: account statements, hash chains, and the verification of the books. */
export function ledgerCommand(): Command {
  const ledger = new Command("ledger").description(
    "Account statements, hash chains, and the verification of the books.",
  );
  ledger
    .command("statement")
    .argument("<lender>", "the lender's code")
    .argument("<loan>", "the lender's loan number")
    .option("--csv", "print the lines as CSV, for a spreadsheet")
    .description("Show every line of a loan's account, over all its cycles.")
    .addHelpText("after", "\nExample:\n  pnpm collections ledger statement ACME LN-1001")
    .action((code: string, loan: string, { csv }: { csv?: true }) => statement(code, loan, formatOf({ csv })));
  ledger.addCommand(feesCommand());
  ledger
    .command("extend")
    .option("--lender <code>", "extend the chain of this lender; by default of every lender")
    .requiredOption("--reason <text>", "the reason, for the audit log", readReason)
    .description("Add every row that is in no block to the hash chains, however old it is.")
    .addHelpText(
      "after",
      `
Workers add new rows by themselves, but look back only 15 minutes. If ledger verify reports ROW_OUTSIDE_CHAIN, find out first
where the rows come from: nobody but the service should write rows. The command may run beside workers, and again.

Example:
  pnpm collections ledger extend --lender ACME --reason "restored from a backup, case 417"`,
    )
    .action((options: ExtendOptions) => extend(options));
  ledger.addCommand(verifyCommand());
  ledger.addCommand(anchorKeysCommand());
  return ledger;
}

interface ExtendOptions {
  lender?: string;
  reason: string;
}

async function extend({ lender: code, reason }: ExtendOptions): Promise<void> {
  await withDatabase(async ({ em }) => {
    const lenders = code === undefined ? await listLenders(em()) : [await lenderNamed(em(), code)];
    const chains: { lenderCode: string; blocks: number; rows: number; head: string | null }[] = [];
    for (const lender of lenders) {
      showProgress(`lender ${chains.length + 1} of ${lenders.length}: ${lender.code}`);
      const { blocks, rows, head } = await collectionsLedger.extendChain(em(), lender.id, { everything: true });
      if (rows > 0) {
        const act = { lenderId: lender.id, act: "ledger.extended", reason, data: { blocks, rows } };
        await transaction(em(), async (tx) => recordAct(tx, act));
      }
      chains.push({ lenderCode: lender.code, blocks, rows, head: head === undefined ? null : String(head.number) });
    }
    endProgress();
    const lines = chains.map(({ lenderCode, blocks, rows, head }) => [
      lenderCode,
      ...[blocks, rows, head ?? "-"].map(String),
    ]);
    answer({ chains }, table([["LENDER", "NEW BLOCKS", "NEW ROWS", "LAST BLOCK"], ...lines]));
  });
}

async function statement(code: string, loan: string, format: PageFormat): Promise<void> {
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
    if (format === "csv") {
      const lines = cycles.flatMap(({ cycle, currency, lines: ofCycle }) =>
        ofCycle.map((line) => ({ cycle, currency, ...line })),
      );
      return printPage(format, { ...CSV, items: lines, nextCursor: null });
    }
    const rows = cycles.flatMap(({ cycle, currency, lines }) =>
      lines.map((line) => [
        String(cycle),
        momentText(new Date(line.at), lender.timeZone),
        line.kind,
        line.memo,
        ...[line.debit, line.credit, line.balance].map((amount) => grouped(amount, currency)),
      ]),
    );
    const text = table([["CYCLE", "AT", "KIND", "MEMO", "OWED MORE", "OWED LESS", "BALANCE"], ...rows]);
    answer({ lenderCode: lender.code, sourceLoanNumber: loan, cases: cycles }, text);
  });
}

const CSV = {
  name: "lines",
  fields: [
    ...(["cycle", "sequence", "at", "recordedAt", "kind", "memo", "reference"] as const),
    ...(["currency", "debit", "credit", "excess", "balance"] as const),
  ],
  columns: {},
  none: "",
};

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
