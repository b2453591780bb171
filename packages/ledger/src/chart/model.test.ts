import {
  createDatabase,
  type Database,
  isUnavailable,
  migrate,
  newId,
  transaction,
  type Tx,
} from "@collections/database";
import { setTimeout } from "node:timers/promises";
import { directUrl, emptyDatabase } from "@collections/testing";
import * as fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { MarketBook, marketplace } from "../../tests/marketplace.ts";
import { type AccountId, type ChartTransfer, InvalidPostingError } from "../index.ts";

const schemas = [marketplace.schema];
const HOUR_MS = 3_600_000;
let database: Database;
let killer: Database;
/** How many transactions lost their connection before they were answered. */
let lost = 0;

beforeAll(async () => {
  const url = directUrl((await emptyDatabase()).url);
  await migrate({ url, schemas });
  database = await createDatabase({ url, schemas });
  killer = await createDatabase({ url: `${url}?application_name=killer`, schemas });
});
afterAll(() => Promise.all([database.close(), killer.close()]));

interface Step {
  readonly act: "deposit" | "release" | "payout" | "fee" | "hold" | "post hold" | "void hold" | "correct";
  readonly amount: number;
  /** Chooses one of the pending holds or of the transfers. */
  readonly pick: number;
  /** When all connections of the service are ended, counted from the beginning of the step. */
  readonly killAfterMs: number | undefined;
}

const steps = fc.array(
  fc.record<Step>({
    act: fc.constantFrom("deposit", "release", "payout", "fee", "hold", "post hold", "void hold", "correct"),
    amount: fc.integer({ min: 1, max: 300 }),
    pick: fc.nat(99),
    killAfterMs: fc.option(fc.integer({ min: 0, max: 6 }), { nil: undefined }),
  }),
  { minLength: 25, maxLength: 50 },
);

async function endAllConnections(): Promise<void> {
  await killer.pool.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
     where datname = current_database() and backend_type = 'client backend' and application_name <> 'killer'`,
  );
}

/** The books of one marketplace as they must be. */
class Model {
  /** The balance of each account in the sense of its normal side. */
  readonly has = new Map<string, bigint>();
  readonly holds = new Map<string, bigint>();
  readonly #book: MarketBook;

  constructor(book: MarketBook) {
    this.#book = book;
    for (const account of [book.bank, book.escrow, book.earnings, book.fees]) this.has.set(account, 0n);
  }

  held(): bigint {
    return [...this.holds.values()].reduce((sum, amount) => sum + amount, 0n);
  }

  /** Moves an amount if no account then has less than its minimum. */
  move(debit: string, credit: string, amount: bigint): boolean {
    const { bank, escrow, earnings } = this.#book;
    const after = new Map(this.has);
    after.set(debit, after.get(debit)! + (debit === bank ? amount : -amount));
    after.set(credit, after.get(credit)! + (credit === bank ? -amount : amount));
    const isLess = (account: string, minimum: bigint) =>
      after.get(account)! < this.has.get(account)! && after.get(account)! < minimum;
    if (isLess(bank, 0n) || isLess(escrow, this.held()) || isLess(earnings, -100n)) return false;
    for (const [account, amountOf] of after) this.has.set(account, amountOf);
    return true;
  }

  hold(id: string, amount: bigint): void {
    this.holds.set(id, amount);
  }

  canHold(amount: bigint): boolean {
    return this.has.get(this.#book.escrow)! - this.held() - amount >= 0n;
  }
}

/** Repeats work until it is answered. Returns the code of a refusal, or undefined. */
async function untilAnswered(
  work: (tx: Tx) => Promise<unknown>,
  isDone: (code: string | undefined) => Promise<boolean>,
): Promise<string | undefined> {
  for (let wasLost = false; ;) {
    try {
      await transaction(database.em(), work);
      return undefined;
    } catch (error) {
      const code = error instanceof InvalidPostingError ? error.code : undefined;
      if (wasLost && (await untilFound(() => isDone(code)))) return undefined;
      if (code !== undefined) return code;
      if (!isUnavailable(error)) throw error;
      lost += 1;
      wasLost = true;
      if (await untilFound(() => isDone(undefined))) return undefined;
    }
  }
}

const never = () => Promise.resolve(false);

/** Takes one step in the database and in the model, and compares what was refused. */
async function take(step: Step, place: number, book: MarketBook, model: Model): Promise<void> {
  const { act, pick } = step;
  const amount = BigInt(step.amount);
  const subject = newId();
  const below = (isAllowed: boolean) => (isAllowed ? undefined : "BELOW_MINIMUM");
  switch (act) {
    case "hold": {
      const held = { ...book.posting("release", amount, subject), expiresAt: new Date(Date.now() + HOUR_MS) };
      const find = async () => {
        const of = { book: book.id, account: book.escrow };
        return (await marketplace.pendingHolds(database.em(), of)).find((hold) => hold.subject === subject);
      };
      const isAllowed = model.canHold(amount);
      const code = await untilAnswered(
        async (tx) => marketplace.hold(tx, held),
        async () => (await find()) !== undefined,
      );
      expect(code).toBe(below(isAllowed));
      if (isAllowed) model.hold((await untilFound(find)).id, amount);
      return;
    }
    case "post hold":
    case "void hold": {
      const chosen = [...model.holds][pick % Math.max(1, model.holds.size)];
      if (!chosen) return;
      const [id, held] = chosen;
      const of = { book: book.id, hold: id };
      const part = amount < held ? amount : held;
      const end = (tx: Tx) =>
        act === "void hold" ? marketplace.voidHold(tx, of) : marketplace.postHold(tx, of, { amountMinor: part });
      expect(await untilAnswered(end, (code) => Promise.resolve(code === "HOLD_ENDED"))).toBeUndefined();
      model.holds.delete(id);
      if (act === "post hold") expect(model.move(book.escrow, book.earnings, part)).toBe(true);
      return;
    }
    case "correct": {
      const transfers = await untilFound(() => correctable(book));
      const wrong = transfers[pick % Math.max(1, transfers.length)];
      if (!wrong) return;
      const isAllowed = model.move(wrong.credit, wrong.debit, wrong.amountMinor);
      const code = await untilAnswered(
        async (tx) => marketplace.correct(tx, wrong, "Wrong"),
        (refusal) => Promise.resolve(refusal === "ALREADY_CORRECTED"),
      );
      expect(code).toBe(below(isAllowed));
      return;
    }
    default: {
      const posting = book.posting(act, amount);
      const isAllowed = model.move(posting.debit, posting.credit, amount);
      const once = { book: book.id, key: `step ${place}` };
      const code = await untilAnswered((tx) => marketplace.postOnce(tx, once, posting), never);
      expect(code).toBe(below(isAllowed));
    }
  }
}

/** The transfers of a book that have no correction and are none. */
async function correctable(book: MarketBook): Promise<ChartTransfer[]> {
  const transfers = await marketplace.transfersOf(database.em(), { book: book.id, subject: book.id });
  const corrected = new Set(transfers.map(({ corrects }) => corrects));
  return transfers.filter(({ id, corrects }) => corrects === null && !corrected.has(id));
}

/** Repeats work that loses its connection. */
async function untilFound<Found>(read: () => Promise<Found | undefined>): Promise<Found> {
  for (;;) {
    const found = await read().catch((error: unknown) => {
      if (!isUnavailable(error)) throw error;
    });
    if (found !== undefined) return found;
  }
}

async function play(walk: readonly Step[]): Promise<void> {
  const book = await untilFound(() => new MarketBook(database).open());
  const model = new Model(book);
  for (const [place, step] of walk.entries()) {
    const kill = step.killAfterMs === undefined ? undefined : setTimeout(step.killAfterMs).then(endAllConnections);
    await take(step, place, book, model);
    await kill;
    if (place % 10 === 0) await untilFound(() => marketplace.extendChain(database.em(), book.id));
    await compare(book, model);
  }
  const verified = await untilFound(() => marketplace.verify(database.em(), { book: book.id }));
  expect(verified).toMatchObject({ ok: true, problems: [] });
}

async function compare(book: MarketBook, model: Model): Promise<void> {
  const of = async (account: AccountId) => {
    const { balanceMinor, heldDebitMinor } = await untilFound(() =>
      marketplace.balance(database.em(), { book: book.id, account }),
    );
    return [account === book.bank ? balanceMinor : -balanceMinor, heldDebitMinor];
  };
  expect(await of(book.bank)).toEqual([model.has.get(book.bank), 0n]);
  expect(await of(book.escrow)).toEqual([model.has.get(book.escrow), model.held()]);
  expect(await of(book.earnings)).toEqual([model.has.get(book.earnings), 0n]);
}

test("a chart answers as its model while connections end", async () => {
  // Several books at once, so that the end of all connections meets each in another place.
  const property = fc.asyncProperty(fc.tuple(steps, steps, steps), async (walks) => {
    const outcomes = await Promise.allSettled(walks.map(play));
    for (const outcome of outcomes) if (outcome.status === "rejected") throw outcome.reason;
  });
  await fc.assert(property, { numRuns: 3, endOnFailure: true });
  expect(lost).toBeGreaterThan(20);
});
