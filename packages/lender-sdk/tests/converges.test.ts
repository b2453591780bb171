import { setImmediate as turn } from "node:timers/promises";
import { emptyDatabase } from "@collections/testing";
import * as fc from "fast-check";
import { readFile } from "node:fs/promises";
import { Client } from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  type CaseSnapshot,
  createReceiver,
  type LoanEvent,
  type LoanState,
  MemoryStorage,
  postgresStorage,
  type Receiver,
  type ReceiverStorage,
  type SqlClient,
} from "../src/index.ts";
import { MortalPool } from "./mortal-pool.ts";
import { aState, anEvent, aWebhook, KEY_ID, SECRET } from "./signed-webhook.ts";

const SCHEMA = await readFile(new URL("../sql/receiver.sql", import.meta.url), "utf8");
const LOANS = 3;
const PROCESSES = 2;
/**
 * At the end of a scenario, the service sends every event that is not lost, again and again until the event is
 * acknowledged. This is the maximum number of these attempts per event. It exceeds the number of failures that the
 * scenario can still cause.
 */
const LAST_ATTEMPTS = 30;

/** Every third event is the reversal of a payment, so that the total also falls. */
const REVERSED_EVERY = 3;

/** One step of a scenario: a loan changes, some events are delivered, or a process dies at one of its next queries. */
const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ what: fc.constant("change" as const), loan: fc.nat(LOANS - 1) }) },
  {
    weight: 8,
    arbitrary: fc.record({
      what: fc.constant("deliver" as const),
      // Several deliveries at once, of any existing event, in any order, to any process: retries, replays, reordering.
      deliveries: fc.array(fc.record({ loan: fc.nat(LOANS - 1), which: fc.nat(100), process: fc.nat(PROCESSES - 1) }), {
        minLength: 1,
        maxLength: 5,
      }),
      trouble: fc.option(fc.constantFrom("apply" as const, "getCase" as const)),
      changesMeanwhile: fc.boolean(),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      what: fc.constant("kill" as const),
      process: fc.nat(PROCESSES - 1),
      statementsLeft: fc.nat(9),
      dies: fc.constantFrom("before" as const, "after" as const),
    }),
  },
);

const scenarios = fc.record({
  steps: fc.array(step, { minLength: 3, maxLength: 25 }),
  /** Events with these sequences never arrive: the service parked them, and no replay sends them again. */
  lost: fc.array(fc.nat(12), { maxLength: 6 }),
});

type Scenario = typeof scenarios extends fc.Arbitrary<infer Value> ? Value : never;

/** The data that a lender has stored: the log of its commits, and its current state. */
interface Stored {
  readonly loans: Map<string, Pick<LoanState, "sequence" | "totalCollected">>;
  /** The applied events, in the order in which they were committed. */
  readonly log: { loan: string; eventId: string; sequence: number; isLate: boolean }[];
}

/** Several processes of one lender with one storage. */
interface Lender {
  readonly receivers: Receiver[];
  kill(process: number, statementsLeft: number, dies: "before" | "after"): void;
  stored(): Promise<Stored>;
}

/** How often each outcome of a request has occurred, such as `healed`, `late` or `refused`. */
type Seen = Map<string, number>;

interface Hooks {
  getCase(loan: string): Promise<CaseSnapshot>;
  beforeApply(): Promise<void>;
}

let runs = 0;

/**
 * Runs a scenario, then delivers every event that is not lost, and checks that the lender has the same state as the
 * service. Counts in `seen` how many requests had each outcome.
 */
async function converges(scenario: Scenario, lenderOf: (hooks: Hooks) => Lender, seen: Seen): Promise<void> {
  runs += 1;
  const loans = Array.from({ length: LOANS }, (_, index) => `LN-${runs}-${index}`);
  const sequences = new Map(loans.map((loan) => [loan, 1]));
  let trouble: "apply" | "getCase" | null = null;
  const lender = lenderOf({
    getCase: async (loan) => {
      await turn();
      if (trouble === "getCase") throw new Error("The service cannot be reached.");
      return snapshotOf(loan, sequences.get(loan)!);
    },
    beforeApply: async () => {
      await turn();
      if (trouble === "apply") throw new Error("The lender's database rejected the write.");
    },
  });
  const sent = new Set<string>();
  const acknowledged = new Set<string>();

  async function deliver(loan: string, sequence: number, process: number): Promise<boolean> {
    const kind = sequence % REVERSED_EVERY === 0 ? "payment.reversed" : "payment.collected";
    const event = anEvent(loan, sequence, { kind, ...amountsAt(sequence) });
    sent.add(`${loan}/${sequence}`);
    const { status, body } = await lender.receivers[process]!.receive(aWebhook(event));
    const outcome = status === 200 ? String(body["outcome"]) : "refused";
    seen.set(outcome, (seen.get(outcome) ?? 0) + 1);
    if (status === 200) acknowledged.add(String(event["eventId"]));
    else expect([500, 503], JSON.stringify(body)).toContain(status);
    return status === 200;
  }

  for (const step of scenario.steps) {
    if (step.what === "change") {
      const loan = loans[step.loan]!;
      sequences.set(loan, sequences.get(loan)! + 1);
    } else if (step.what === "kill") {
      lender.kill(step.process, step.statementsLeft, step.dies);
    } else {
      ({ trouble } = step);
      const under = step.deliveries.map(({ loan, which, process }) =>
        deliver(loans[loan]!, (which % sequences.get(loans[loan]!)!) + 1, process),
      );
      if (step.changesMeanwhile) sequences.set(loans[0]!, sequences.get(loans[0]!)! + 1);
      await Promise.all(under);
      trouble = null;
    }
  }

  // The service sends every event that is not lost, all at once, until each is acknowledged. The last event of a loan
  // is never lost, and neither is an event that was sent before: the lender may have stored it although its answer was an
  // error, and the service then sends it again.
  await Promise.all(
    loans.flatMap((loan) => {
      const last = sequences.get(loan)!;
      const left = Array.from({ length: last }, (_, index) => index + 1);
      return left
        .filter((sequence) => sequence === last || !scenario.lost.includes(sequence) || sent.has(`${loan}/${sequence}`))
        .map((sequence) => untilAcknowledged((process) => deliver(loan, sequence, process)));
    }),
  );
  const stored = await lender.stored();
  for (const loan of loans) expectConverged(loan, sequences.get(loan)!, stored, acknowledged);
}

async function untilAcknowledged(deliver: (process: number) => Promise<boolean>): Promise<void> {
  for (let attempt = 0; attempt < LAST_ATTEMPTS; attempt += 1) {
    if (await deliver(attempt % PROCESSES)) return;
  }
  throw new Error(`Not acknowledged in ${LAST_ATTEMPTS} attempts.`);
}

function expectConverged(loan: string, sequence: number, { loans, log }: Stored, acknowledged: Set<string>): void {
  const { totalCollected } = snapshotOf(loan, sequence);
  expect(loans.get(loan)).toEqual({ sequence, totalCollected });
  const ofLoan = log.filter((entry) => entry.loan === loan);
  // Sequences only increase, and each acknowledged event is applied exactly once, either in order or as a late event.
  const forward = ofLoan.filter(({ isLate }) => !isLate).map((entry) => entry.sequence);
  expect(forward).toEqual([...new Set(forward)].toSorted((a, b) => a - b));
  const expected = [...acknowledged].filter((eventId) => eventId.startsWith(`evt_${loan}_`));
  expect(ofLoan.map(({ eventId }) => eventId).toSorted()).toEqual(expected.toSorted());
}

function snapshotOf(loan: string, sequence: number): CaseSnapshot {
  const { totalCollected, outstandingAfter } = amountsAt(sequence);
  const amounts = { totalCollected: String(totalCollected), outstandingAfter: String(outstandingAfter) };
  return { ...aState(loan, sequence), ...amounts } as unknown as CaseSnapshot;
}

/** Returns the totals at a sequence. Each event collects 10.10, but every third event reverses a payment of 10.10. */
function amountsAt(sequence: number): { totalCollected: number; outstandingAfter: number } {
  const collectedMinor = (sequence - 2 * Math.floor(sequence / REVERSED_EVERY)) * 1_010;
  return { totalCollected: collectedMinor / 100, outstandingAfter: (1_000_000 - collectedMinor) / 100 };
}

function receiverOver<Tx>(
  storage: ReceiverStorage<Tx>,
  { getCase }: Hooks,
  store: (tx: Tx, event: LoanEvent, state: LoanState | undefined) => Promise<void>,
): Receiver {
  return createReceiver<Tx>({
    secrets: { [KEY_ID]: SECRET },
    storage,
    client: { getCase },
    apply: ({ event, state }, tx) => store(tx, event, state),
    applyLate: (event, tx) => store(tx, event, undefined),
    onError: () => {},
  });
}

function lenderInMemory(hooks: Hooks): Lender {
  const storage = new MemoryStorage();
  const stored: Stored = { loans: new Map(), log: [] };
  async function store(_: undefined, event: LoanEvent, state: LoanState | undefined): Promise<void> {
    await hooks.beforeApply();
    const { sourceLoanNumber: loan, eventId } = event;
    stored.log.push({ loan, eventId, sequence: state?.sequence ?? 0, isLate: state === undefined });
    if (state) stored.loans.set(loan, { sequence: state.sequence, totalCollected: state.totalCollected });
  }
  return {
    receivers: Array.from({ length: PROCESSES }, () => receiverOver(storage, hooks, store)),
    // Does nothing: the death of a process is not simulated for a MemoryStorage, because the storage would be lost with
    // the process.
    kill: () => {},
    stored: async () => stored,
  };
}

let admin: Client;
let pools: MortalPool[];

beforeAll(async () => {
  const { url } = await emptyDatabase();
  pools = Array.from({ length: PROCESSES }, () => new MortalPool(url));
  admin = new Client({ connectionString: url });
  await admin.connect();
  await admin.query(SCHEMA);
  await admin.query(`
    create table loan (number text primary key, sequence bigint not null, total_collected text not null);
    create table log (id bigint generated always as identity, loan text not null, event_id text not null,
      sequence bigint not null, is_late boolean not null)`);
});

afterAll(async () => {
  await Promise.all([admin.end(), ...pools.map((pool) => pool.end())]);
});

function lenderOnPostgres(hooks: Hooks): Lender {
  for (const pool of pools) pool.fuse = undefined;
  async function store(tx: SqlClient, event: LoanEvent, state: LoanState | undefined): Promise<void> {
    const { sourceLoanNumber: loan, eventId } = event;
    await tx.query("insert into log (loan, event_id, sequence, is_late) values ($1, $2, $3, $4)", [
      loan,
      eventId,
      state?.sequence ?? 0,
      state === undefined,
    ]);
    await hooks.beforeApply();
    if (!state) return;
    const upsert = `insert into loan (number, sequence, total_collected) values ($1, $2, $3)
      on conflict (number) do update set (sequence, total_collected) = (excluded.sequence, excluded.total_collected)`;
    await tx.query(upsert, [loan, state.sequence, state.totalCollected]);
  }
  return {
    receivers: pools.map((pool) => receiverOver(postgresStorage(pool), hooks, store)),
    kill: (process, statementsLeft, dies) => {
      pools[process]!.fuse = { statementsLeft, dies };
    },
    stored: storedInPostgres,
  };
}

async function storedInPostgres(): Promise<Stored> {
  const loans = await admin.query<{ number: string; sequence: string; total_collected: string }>("select * from loan");
  const log = await admin.query<{ loan: string; event_id: string; sequence: string; is_late: boolean }>(
    "select * from log order by id",
  );
  return {
    loans: new Map(
      loans.rows.map(({ number, sequence, total_collected: totalCollected }) => [
        number,
        { sequence: Number(sequence), totalCollected },
      ]),
    ),
    log: log.rows.map(({ loan, event_id: eventId, sequence, is_late: isLate }) => ({
      loan,
      eventId,
      sequence: Number(sequence),
      isLate,
    })),
  };
}

// Each of these outcomes must occur in at least one scenario.
const OUTCOMES = ["applied", "duplicate", "healed", "late", "refused"];

test("a lender with a MemoryStorage ends up with the service's state, in whatever order events arrive", async () => {
  const seen: Seen = new Map();
  await fc.assert(
    fc.asyncProperty(scenarios, (scenario) => converges(scenario, lenderInMemory, seen)),
    { numRuns: 150 },
  );
  expect([...seen.keys()].toSorted()).toEqual(OUTCOMES);
});

test("a lender with a PostgresStorage ends up with the service's state, even if processes die at any query", async () => {
  const seen: Seen = new Map();
  await fc.assert(
    fc.asyncProperty(scenarios, (scenario) => converges(scenario, lenderOnPostgres, seen)),
    { numRuns: 20 },
  );
  expect([...seen.keys()].toSorted()).toEqual(OUTCOMES);
});

test("a process that dies at any query of an event stores all of the event or nothing", async () => {
  const seen: Seen = new Map();
  const delivery = { loan: 0, which: 0, process: 0 };
  // The first event is then not the last of its loan, so the service would not send it if it had not been sent before.
  const change = { what: "change", loan: 0 } as const;
  // Applying an event takes 8 queries: begin, lock the loan, find the event, two queries of the lender, insert the
  // event, update the sequence of the loan, commit.
  for (let statementsLeft = 0; statementsLeft < 8; statementsLeft += 1) {
    for (const dies of ["before", "after"] as const) {
      for (const deliveries of [[delivery], [delivery, delivery]]) {
        const kill = { what: "kill", process: 0, statementsLeft, dies } as const;
        const deliver = { what: "deliver", deliveries, trouble: null, changesMeanwhile: false } as const;
        await converges({ steps: [change, kill, deliver], lost: [1] }, lenderOnPostgres, seen);
      }
    }
  }
  expect(seen.get("refused")).toBe(32);
});
