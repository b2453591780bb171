import { randomUUID } from "node:crypto";
import type { PackagesPlan } from "../plan.ts";
import type { BenchServer } from "../server/bench-server.ts";
import { startHandLedger } from "./hand-ledger.ts";
import type { Account, LedgerProgram } from "./ledger-program.ts";
import { measureRow, rateOf, type Row } from "./measured-row.ts";
import { startOurLedger } from "./our-ledger.ts";
import { startPgledger } from "./pgledger.ts";
import { fillBusyAccount, fundPurses, postingOf, type Workload, WORKLOADS } from "./postings.ts";

/** `@collections/ledger` beside other ledgers. */
export interface LedgerReport {
  readonly postings: readonly Row[];
  readonly balances: readonly Row[];
  /** How much the database grows per transfer, with indexes, keys and everything that the background work writes. */
  readonly sizes: readonly { readonly name: string; readonly bytesPerTransfer: number }[];
}

export interface LedgerBench {
  readonly plan: PackagesPlan;
  readonly server: BenchServer;
  /** The file `pgledger.sql` of a checkout of pgledger. If undefined, pgledger is left out. */
  readonly pgledger: string | undefined;
  readonly onProgress: (message: string) => void;
}

/** The ledgers, and the number of transfers that the benchmark has posted to each. */
interface Posted {
  readonly programs: readonly LedgerProgram[];
  readonly transfers: Map<string, number>;
}

/**
 * Measures ledgers in turn: postings of two transfers, the size of their database, and balances. Fails if a ledger has
 * another number of transfers than it was given, or balances that its transfers do not explain.
 */
export async function measureLedgers(bench: LedgerBench): Promise<LedgerReport> {
  const { plan, server, pgledger, onProgress } = bench;
  onProgress("ledgers: opening accounts");
  const urls = new Map<LedgerProgram, string>();
  const open = async (name: string, start: (url: string) => Promise<LedgerProgram>) => {
    const url = await server.createDatabase(name);
    urls.set(await start(url), url);
  };
  await open("our_ledger", (url) => startOurLedger(url, plan.accounts));
  await open("hand_stored", (url) => startHandLedger(url, plan.accounts, "stored"));
  await open("hand_summed", (url) => startHandLedger(url, plan.accounts, "summed"));
  if (pgledger) await open("pgledger", (url) => startPgledger(url, plan.accounts, pgledger));
  const programs = [...urls.keys()];
  try {
    const posted: Posted = { programs, transfers: new Map(programs.map(({ name }) => [name, 0])) };
    for (const program of programs) count(posted, program, await fundPurses(program, plan.accounts));
    const { postings, sizes } = await measurePostings(bench, posted);
    onProgress(`ledgers: an account of ${plan.busyTransfers.toLocaleString("en")} transfers`);
    for (const program of programs) count(posted, program, await fillBusyAccount(program, plan.busyTransfers));
    onProgress("ledgers: comparing balances with transfers");
    for (const program of programs) await requireCount(program, posted.transfers.get(program.name)!);
    for (const url of urls.values()) await server.analyze(url);
    await server.checkpoint();
    return { postings, sizes, balances: await measureBalances(bench, programs) };
  } finally {
    await Promise.all(programs.map((program) => program.close()));
  }
}

async function measurePostings(bench: LedgerBench, posted: Posted): Promise<Pick<LedgerReport, "postings" | "sizes">> {
  const { plan, server, onProgress } = bench;
  const { programs } = posted;
  const pids = [process.pid, server.pid];
  const rate = (workload: Workload, clients: number, durationMs: number) => (program: LedgerProgram) =>
    program.during(() =>
      rateOf(
        async () => {
          const transfers = postingOf(workload, plan.accounts);
          await program.post(randomUUID(), transfers);
          count(posted, program, transfers.length);
        },
        { clients, durationMs, pids },
      ),
    );
  onProgress("ledgers: warming up");
  const workloads = Object.keys(WORKLOADS) as Workload[];
  for (const program of programs) {
    for (const workload of workloads) {
      if (isFor(workload, program)) await rate(workload, Math.max(...plan.clients), plan.warmUpMs)(program);
    }
  }
  await server.checkpoint();
  const before = await Promise.all(
    programs.map(async (program) => ({ bytes: await program.bytes(), count: posted.transfers.get(program.name)! })),
  );
  const postings: Row[] = [];
  for (const workload of workloads) {
    onProgress(`ledgers: ${WORKLOADS[workload]}`);
    for (const clients of plan.clients) {
      const compared = programs.filter((program) => isFor(workload, program));
      const row = { what: WORKLOADS[workload], clients, rounds: plan.rounds, place: postings.length, pids };
      postings.push(await measureRow({ ...row, programs: compared, measure: rate(workload, clients, plan.roundMs) }));
    }
  }
  const sizes = await Promise.all(
    programs.map(async (program, index) => {
      const { bytes, count: earlier } = before[index]!;
      const transfers = posted.transfers.get(program.name)! - earlier;
      return { name: program.name, bytesPerTransfer: ((await program.bytes()) - bytes) / transfers };
    }),
  );
  return { postings, sizes };
}

/** Measures reads of balances. A round takes half the time of a round of postings. */
async function measureBalances(bench: LedgerBench, programs: readonly LedgerProgram[]): Promise<Row[]> {
  const { plan, server, onProgress } = bench;
  const pids = [process.pid, server.pid];
  const wallet = (): Account => ({ kind: "wallet", index: Math.floor(Math.random() * plan.accounts) });
  const busy = (): Account => ({ kind: "busy", index: 0 });
  const rows: Row[] = [];
  for (const [what, account] of [
    ["balances of wallets", wallet],
    [`balance of an account of ${plan.busyTransfers.toLocaleString("en")} transfers`, busy],
  ] as const) {
    onProgress(`ledgers: ${what}`);
    const rate = (clients: number, durationMs: number) => (program: LedgerProgram) =>
      rateOf(
        async () => {
          await program.balance(account());
        },
        { clients, durationMs, pids },
      );
    for (const program of programs) await rate(Math.max(...plan.clients), plan.warmUpMs / 2)(program);
    for (const clients of plan.clients) {
      const row = { what, clients, rounds: plan.rounds, place: rows.length, pids };
      rows.push(await measureRow({ ...row, programs, measure: rate(clients, plan.roundMs / 2) }));
    }
  }
  return rows;
}

function isFor(workload: Workload, { keepsMinimums }: LedgerProgram): boolean {
  return workload !== "limited" || keepsMinimums;
}

function count({ transfers }: Posted, { name }: LedgerProgram, more: number): void {
  transfers.set(name, transfers.get(name)! + more);
}

async function requireCount(program: LedgerProgram, expected: number): Promise<void> {
  const found = await program.checkedTransfers();
  if (found !== expected) throw new Error(`${program.name} has ${found} transfers, expected ${expected}.`);
}
