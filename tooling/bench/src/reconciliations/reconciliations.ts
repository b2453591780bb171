import { createWriteStream } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { DATA_DIR, type BenchServer } from "../server/bench-server.ts";
import { type Books, fillBooks } from "../books/books.ts";
import { type Spread, spreadOf } from "../figures/statistics.ts";
import { AMOUNT, AMOUNT_MINOR, CURRENCY, loanNumber } from "../load/payment.ts";
import type { ReconciliationPlan } from "../plan.ts";
import { openClient } from "../server/open-client.ts";
import { measuredOperator } from "../server/service.ts";

/** The comparison of a file with as many bookings as it has rows: medians and spreads over the rounds. */
export interface ReconciliationFigures {
  readonly rows: number;
  readonly command: {
    /** Rows of the file a second, from the start of the process to its end. */
    readonly rowsPerSecond: Spread;
    /** The peak memory of the process; undefined if the system does not report it. */
    readonly peakMemoryMb: Spread | undefined;
  };
  /** Rows of the file a second for COPY of both sides into the table in which the command orders them. */
  readonly copyRowsPerSecond: Spread;
  readonly ratio: Spread;
}

export interface ReconciliationBench {
  readonly plan: ReconciliationPlan;
  readonly server: BenchServer;
  readonly onProgress: (message: string) => void;
}

const LENDER = "DAY";
const LOANS = 1_000;
const DAY_MS = 86_400_000;
const COPY_OF_ROWS = "reconciliation_copy";

/**
 * Measures `payment reconcile` with files of several sizes. Each file has the payments of a day, and all of them match.
 * The bookings are written by SQL, and only the table of bookings has them.
 */
export async function measureReconciliations(bench: ReconciliationBench): Promise<ReconciliationFigures[]> {
  const { plan, server, onProgress } = bench;
  const figures: ReconciliationFigures[] = [];
  for (const rows of plan.rows) {
    onProgress(`${rows.toLocaleString("en")} bookings`);
    const databaseUrl = await server.createDatabase("reconciled");
    const books = await fillBooks(databaseUrl, [{ loans: { lenderCodes: [LENDER], perLender: LOANS }, options: [] }]);
    const day = { to: new Date(), from: new Date(Date.now() - DAY_MS) };
    await addBookings(databaseUrl, books, { rows, ...day, loans: LOANS });
    const path = join(DATA_DIR, "reconciled.csv");
    await pipeline(Readable.from(linesOf(rows)), createWriteStream(path));
    const rounds: Round[] = [];
    for (let round = 0; round < plan.rounds; round += 1) {
      onProgress(`${rows.toLocaleString("en")} rows, round ${round + 1} of ${plan.rounds}`);
      await server.checkpoint();
      rounds.push(await measureRound(databaseUrl, { path, rows, ...day }));
    }
    await rm(path);
    await server.dropDatabase("reconciled");
    figures.push(figuresOf(rows, rounds));
  }
  return figures;
}

interface Round {
  readonly commandMs: number;
  readonly peakMemoryMb: number | undefined;
  readonly copyMs: number;
}

interface Day {
  readonly rows: number;
  readonly from: Date;
  readonly to: Date;
}

async function measureRound(databaseUrl: string, { path, rows, from, to }: Day & { path: string }): Promise<Round> {
  const window = [`--from=${from.toISOString()}`, `--to=${to.toISOString()}`];
  const command = ["payment", "reconcile", path, `--lender=${LENDER}`, ...window];
  const { answer, elapsedMs, peakMemoryMb } = await measuredOperator(databaseUrl, ...command);
  const { matched } = answer["counts"] as { matched: number };
  if (matched !== rows) throw new Error(`The reconciliation matched ${matched} of ${rows} rows.`);
  return { commandMs: elapsedMs, peakMemoryMb, copyMs: await copyBothSides(databaseUrl, rows) };
}

/** Adds the bookings of a day to the lender `DAY`, spread over all its loans. */
export async function addBookings(
  databaseUrl: string,
  { lenderIds }: Books,
  { rows, from, to, loans }: Day & { readonly loans: number },
): Promise<void> {
  const client = await openClient(databaseUrl);
  await client.query(
    `insert into ledger.payment_booking (lender_id, id, source_loan_number, reference, case_id, cycle, amount_minor,
       currency, mode, raw_mode, paid_at, attribution, applied_minor, excess_minor, outstanding_after_minor,
       total_collected_after_minor, status_after, sequence, warnings, recorded_at)
     select $1::uuid, uuidv7(), $2::text || '-' || (i % $3::int), 'utr-' || i, c.id, 1, $4::bigint, $5, 'upi', 'UPI',
       $6::timestamptz + i * (($7::timestamptz - $6::timestamptz) / $8::int), 'none', $4::bigint, 0, 1, $4::bigint,
       'in_progress', 1 + i, '[]', now()
     from generate_series(0, $8::int - 1) i
     join cases.collection_case c on c.lender_id = $1::uuid and c.source_loan_number = $2::text || '-' || (i % $3::int)`,
    [lenderIds[LENDER], LENDER, loans, AMOUNT_MINOR, CURRENCY, from, to, rows],
  );
  await client.query("vacuum analyze");
  await client.end();
}

/** Yields the file. Neighbouring lines have references that are far apart, as in a lender's file. */
function* linesOf(rows: number): Generator<string> {
  yield "loan,reference,amount,mode\n";
  for (let line = 0; line < rows; line += 1) {
    const index = (line * 7_919) % rows;
    yield `${loanNumber(LENDER, index % LOANS)},utr-${index},${AMOUNT},upi\n`;
  }
}

/** Copies the rows of both sides from a file of the server into a table like the one that the command uses. */
async function copyBothSides(databaseUrl: string, rows: number): Promise<number> {
  const client = await openClient(databaseUrl);
  const { rows: found } = await client.query<{ folder: string }>("select current_setting('data_directory') as folder");
  const path = join(found[0]!.folder, "reconciliation.copy");
  await client.query(
    `copy (select lender_id, id, reference, source_loan_number, case when side = 0 then '00000000-0000-0000-0000-' ||
         lpad(to_hex(sequence), 12, '0') else id::text end, case when side = 0 then sequence end, amount_minor, 0, currency, paid_at,
         'upi', true
       from ledger.payment_booking cross join generate_series(0, 1) side) to '${path}'`,
  );
  await client.query(`create unlogged table ${COPY_OF_ROWS} (like ledger.reconciliation_row including all)`);
  const startedAt = performance.now();
  await client.query(`copy ${COPY_OF_ROWS} from '${path}'`);
  const elapsedMs = performance.now() - startedAt;
  const { rows: counted } = await client.query<{ count: string }>(`select count(*) as count from ${COPY_OF_ROWS}`);
  if (Number(counted[0]!.count) !== 2 * rows) throw new Error(`COPY wrote ${counted[0]!.count} rows, not ${2 * rows}.`);
  await client.query(`drop table ${COPY_OF_ROWS}`);
  await client.end();
  await rm(path);
  return elapsedMs;
}

function figuresOf(rows: number, rounds: readonly Round[]): ReconciliationFigures {
  const peaks = rounds.flatMap(({ peakMemoryMb }) => peakMemoryMb ?? []);
  const perSecond = (elapsedMs: number) => (rows / elapsedMs) * 1_000;
  return {
    rows,
    command: {
      rowsPerSecond: spreadOf(rounds.map(({ commandMs }) => perSecond(commandMs))),
      peakMemoryMb: peaks.length === 0 ? undefined : spreadOf(peaks),
    },
    copyRowsPerSecond: spreadOf(rounds.map(({ copyMs }) => perSecond(copyMs))),
    ratio: spreadOf(rounds.map(({ commandMs, copyMs }) => copyMs / commandMs)),
  };
}
