import { createDatabase, migrate, newId, transaction } from "@collections/database";
import { type AccountId, type ChartPosting, defineChart, startLedger } from "@collections/ledger";
import {
  type Account,
  accountsOf,
  CONNECTIONS,
  CURRENCY,
  type LedgerProgram,
  nameOf,
  type Transfer,
} from "./ledger-program.ts";

const chart = defineChart({
  accounts: {
    bank: { normalSide: "debit" },
    fees: { normalSide: "credit" },
    busy: { normalSide: "credit" },
    wallet: { normalSide: "credit" },
    purse: { normalSide: "credit", minimum: 0n },
  },
  kinds: {
    deposit: { debit: "bank", credit: ["wallet", "purse", "busy"] },
    fee: { debit: "wallet", credit: "fees" },
    move: { debit: "wallet", credit: "wallet" },
    spend: { debit: "purse", credit: "purse" },
  },
});
type Kind = "deposit" | "fee" | "move" | "spend";

const EXTEND_EVERY_MS = 1_000;

/**
 * Starts the ledger of `@collections/ledger`. Its background work, which extends the hash chain and takes snapshots of
 * balances, runs in this process while something is measured, once a second.
 */
export async function startOurLedger(url: string, count: number): Promise<LedgerProgram> {
  const schemas = [chart.schema];
  await migrate({ url, schemas });
  const database = await createDatabase({ url, schemas, poolMax: CONNECTIONS });
  const book = newId();
  const accounts = accountsOf(count);
  const toOpen = accounts.map(({ kind }) => ({ book, kind, ownerId: newId(), currency: CURRENCY }));
  const opened: readonly AccountId[] = await transaction(database.em(), async (tx) => chart.open(tx, toOpen));
  const ids = new Map(accounts.map((account, index) => [nameOf(account), opened[index]!]));
  const idOf = (account: Account) => ids.get(nameOf(account))!;
  const postingFor = ({ from, to, amountMinor }: Transfer): ChartPosting<Kind> => {
    const sides = { debit: idOf(from), credit: idOf(to) };
    return { book, kind: kindOf(from, to), ...sides, amountMinor: BigInt(amountMinor) };
  };
  return {
    name: "@collections/ledger",
    keepsMinimums: true,
    async post(key, transfers) {
      await transaction(database.em(), (tx) => chart.postOnce(tx, { book, key }, ...transfers.map(postingFor)));
    },
    async balance(account) {
      const { balanceMinor } = await chart.balance(database.em(), { book, account: idOf(account) });
      return Number(-balanceMinor);
    },
    async during(work) {
      const duties = startLedger({ database, ledgers: [chart], everyMs: EXTEND_EVERY_MS });
      try {
        return await work();
      } finally {
        await duties.stop();
      }
    },
    async checkedTransfers() {
      await chart.extendChain(database.em(), book);
      const { ok, problems, counts } = await chart.verify(database.em());
      if (!ok) throw new Error(`@collections/ledger: verify found ${JSON.stringify(problems.slice(0, 3))}`);
      return Number(counts.transfers);
    },
    async bytes() {
      const { rows } = await database.pool.query<{ bytes: number }>(
        "select pg_database_size(current_database())::float8 as bytes",
      );
      return rows[0]!.bytes;
    },
    close: () => database.close(),
  };
}

function kindOf({ kind: from }: Account, { kind: to }: Account): Kind {
  if (from === "bank") return "deposit";
  if (from === "purse") return "spend";
  return to === "fees" ? "fee" : "move";
}
