import { Client } from "pg";
import { fillBooks } from "../books/books.ts";
import { CONFIRM_IN_ONE_STATEMENT } from "../books/one-statement.ts";
import { processorMs } from "../figures/processor-time.ts";
import { type Spread, spreadOf } from "../figures/statistics.ts";
import { COMMISSION_PERCENT, type Loan, type Loans, loansOf } from "../load/payment.ts";
import type { SchemaPlan } from "../plan.ts";
import type { BenchServer } from "../server/bench-server.ts";
import { CONFIRM_IN_LEAN_TABLES, LEAN_TABLES } from "./lean-schema.ts";

/** The tables to which a confirmation writes. */
const TABLES = [
  "cases.collection_case",
  "ledger.payment_booking",
  "ledger.transfer",
  "earnings.earning",
  "webhooks.event",
  "webhooks.delivery",
];

/** A schema on which the statement of a payment is measured. */
interface Variant {
  readonly name: string;
  /** Statements that change the schema of the service. */
  readonly changes: string;
  /** Returns the statement of a payment. */
  readonly statement: (ours: string) => string;
}

const unchanged = (ours: string): string => ours;
const DIGEST = /ledger\.(?:payment_booking|transfer)_digest\([^)]*\)/g;
const withoutDigests = (ours: string): string => ours.replaceAll(DIGEST, String.raw`'\x00'::bytea`);
const NO_CHECKS = `do $$ declare one record; begin
  for one in select conrelid::regclass as relation, conname from pg_constraint
    where contype = 'c' and conislocal and conrelid = any (array['${TABLES.join("', '")}']::regclass[])
  loop execute format('alter table %s drop constraint %I', one.relation, one.conname); end loop;
end $$`;
const NO_DIGESTS = "drop trigger set_digest on ledger.payment_booking; drop trigger set_digest on ledger.transfer";
const NO_PARTITIONS = `
  create table webhooks.plain (like webhooks.event including all);
  drop table webhooks.event;
  alter table webhooks.plain rename to event`;

/** The schema of the service comes first, and the lean schema last. */
const VARIANTS: readonly Variant[] = [
  { name: "the service's schema", changes: "select", statement: unchanged },
  { name: "without checks", changes: NO_CHECKS, statement: unchanged },
  { name: "without digests", changes: NO_DIGESTS, statement: withoutDigests },
  { name: "events without partitions", changes: NO_PARTITIONS, statement: unchanged },
  {
    name: "without earnings",
    changes: "select",
    statement: (ours) => ours.replace(/ earned as \([\s\S]*?from paid\n\),/, ""),
  },
  {
    name: "without all of these but earnings",
    changes: [NO_CHECKS, NO_DIGESTS, NO_PARTITIONS].join("; "),
    statement: withoutDigests,
  },
  { name: "a lean schema", changes: LEAN_TABLES, statement: () => CONFIRM_IN_LEAN_TABLES },
];

/** The cost of the statement of a payment on a schema. */
export interface VariantCost {
  readonly name: string;
  /** Microseconds of PostgreSQL's processor time per payment. */
  readonly processorUs: Spread;
  /** The processor time divided by that on the lean schema, in the same round. */
  readonly toLean: Spread;
  /** Bytes of write-ahead log per payment. */
  readonly walBytes: number;
}

interface Measured {
  readonly processorUs: number;
  readonly walBytes: number;
}

/**
 * Measures the processor time of PostgreSQL for a payment that is booked by one SQL statement: on the schema of the
 * service, on that schema without some of its parts, and on a lean schema with the same facts. One connection books the
 * payments one after the other. Its commits do not wait for the disk, which uses no processor time.
 */
export async function measureSchema({
  plan,
  server,
  onProgress,
}: {
  readonly plan: SchemaPlan;
  readonly server: BenchServer;
  readonly onProgress: (message: string) => void;
}): Promise<VariantCost[]> {
  onProgress("filling the database");
  const loans: Loans = { lenderCodes: ["SCHEMA"], perLender: plan.payments + plan.warmUpPayments };
  const template = "schema_template";
  const url = await server.createDatabase(template);
  const { lenderIds } = await fillBooks(url, [{ loans, options: [`--commission-percent=${COMMISSION_PERCENT}`] }]);
  const rounds: Map<string, Measured>[] = [];
  for (let round = 0; round < plan.rounds; round += 1) {
    const measured = new Map<string, Measured>();
    for (const variant of round % 2 === 0 ? VARIANTS : VARIANTS.toReversed()) {
      onProgress(`round ${round + 1}: ${variant.name}`);
      measured.set(variant.name, await measureVariant(variant, { plan, server, template, loans, lenderIds }));
    }
    rounds.push(measured);
  }
  const lean = VARIANTS.at(-1)!.name;
  return VARIANTS.map(({ name }) => ({
    name,
    processorUs: spreadOf(rounds.map((round) => round.get(name)!.processorUs)),
    toLean: spreadOf(rounds.map((round) => round.get(name)!.processorUs / round.get(lean)!.processorUs)),
    walBytes: spreadOf(rounds.map((round) => round.get(name)!.walBytes)).median,
  }));
}

interface VariantBench {
  readonly plan: SchemaPlan;
  readonly server: BenchServer;
  readonly template: string;
  readonly loans: Loans;
  readonly lenderIds: Readonly<Record<string, string>>;
}

async function measureVariant(
  { changes, statement }: Variant,
  { plan, server, template, loans, lenderIds }: VariantBench,
): Promise<Measured> {
  const database = "schema_variant";
  const client = new Client({ connectionString: await server.createDatabase(database, template) });
  await client.connect();
  await client.query(changes);
  await client.query("vacuum analyze");
  await client.query("set synchronous_commit = off");
  await server.checkpoint();
  const text = statement(CONFIRM_IN_ONE_STATEMENT);
  const pay = async (paid: readonly Loan[]): Promise<void> => {
    for (const { lenderCode, number } of paid) {
      const values = [lenderIds[lenderCode], lenderCode, number, `UTR-${number}`, new Date().toISOString()];
      const { rowCount } = await client.query({ name: "pay", text, values });
      if (rowCount !== 1)
        throw new Error(`The statement updated ${rowCount} cases of the loan ${number} instead of one.`);
    }
  };
  const all = loansOf(loans);
  await pay(all.slice(0, plan.warmUpPayments));
  const [walBefore, processorBefore] = [await walPosition(client), processorMs([server.pid])];
  await pay(all.slice(plan.warmUpPayments));
  const processorAfter = processorMs([server.pid]);
  const walBytes = ((await walPosition(client)) - walBefore) / plan.payments;
  await client.end();
  await server.dropDatabase(database);
  if (processorBefore === undefined || processorAfter === undefined) {
    throw new Error("This system does not report the processor time of processes.");
  }
  return { processorUs: ((processorAfter - processorBefore) * 1_000) / plan.payments, walBytes };
}

async function walPosition(client: Client): Promise<number> {
  const { rows } = await client.query<{ bytes: number }>(
    "select (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::float8 as bytes",
  );
  return rows[0]!.bytes;
}
