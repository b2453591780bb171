import { createDatabase, type Database, migrate, newId, transaction } from "@collections/database";
import { afterFile, testDatabase } from "@collections/testing";
import { emit, registerEndpoint } from "../src/index.ts";
import { PARTITIONED } from "../src/storage/retention.ts";
import { webhooksSchema } from "../src/schema.ts";
import type { NumberedEvent } from "./trial.ts";

const DAY_MS = 86_400_000;

/** The state of an event that was published long ago. */
export interface Past {
  readonly daysAgo: number;
  readonly state: "waiting" | "retrying" | "delivered" | "parked";
  /** How many days ago the event was delivered or parked. Absent for other states. */
  readonly settledDaysAgo?: number;
}

/** A database like that of a service that has run for months, with one lender. */
export interface LongRun {
  readonly database: Database;
  readonly url: string;
  readonly lenderId: string;
  /**
   * Publishes an event with a time in the past. For a settled event, also stores the attempt that settled it. Returns
   * the event's id.
   */
  publish(loan: string, sequence: number, past: Past): Promise<string>;
  /** Runs SQL as the owner of the tables, and returns the rows. */
  sql<Row extends object>(text: string, values?: unknown[]): Promise<Row[]>;
}

/** Opens a database whose weekly partitions begin eight weeks ago, and end as far ahead as the routine creates them. */
export async function openLongRun(): Promise<LongRun> {
  const { database, url, sql } = await openCopy("webhooks_long_run", async (at) => {
    await migrateWebhooks(at);
    await beginWeeklyPartitions(at, 8);
  });
  const lenderId = newId();
  await transaction(database.em(), (tx) => registerEndpoint(tx, { tenantId: lenderId, url: "http://127.0.0.1:9/" }));
  return {
    database,
    url,
    lenderId,
    sql,
    async publish(loan, sequence, { daysAgo, state, settledDaysAgo }) {
      const event = eventAt(lenderId, loan, sequence, new Date(Date.now() - daysAgo * DAY_MS));
      await transaction(database.em(), async (tx) => emit(tx, [event], { trusted: true }));
      await sql(`update webhooks.delivery set state = $2, settled_at = now() - $3 * interval '1 day' where id = $1`, [
        event.eventId,
        state,
        settledDaysAgo ?? null,
      ]);
      if (settledDaysAgo !== undefined) {
        await sql(
          `insert into webhooks.attempt (lender_id, id, delivery_id, number, started_at, duration_ms, outcome)
           values ($1, $2, $3, 1, now(), 5, 'failed')`,
          [lenderId, idAt(new Date(Date.now() - settledDaysAgo * DAY_MS)), event.eventId],
        );
      }
      return event.eventId;
    },
  };
}

/** Opens a database with only the partitions of its migration. */
export async function openFresh(): Promise<Pick<LongRun, "database" | "url" | "sql">> {
  return openCopy("webhooks", migrateWebhooks);
}

async function openCopy(
  name: string,
  make: (url: string) => Promise<void>,
): Promise<Pick<LongRun, "database" | "url" | "sql">> {
  const { url } = await testDatabase(name, make);
  const database = await createDatabase({ url, schemas: [webhooksSchema] });
  afterFile(() => database.close());
  return {
    database,
    url,
    async sql<Row extends object>(text: string, values: unknown[] = []) {
      return (await database.pool.query<Row>(text, values)).rows;
    },
  };
}

async function migrateWebhooks(url: string): Promise<void> {
  await migrate({ url, schemas: [webhooksSchema], jobs: true });
}

async function beginWeeklyPartitions(url: string, weeksAgo: number): Promise<void> {
  const database = await createDatabase({ url, schemas: [webhooksSchema] });
  for (const table of PARTITIONED) {
    await database.pool.query(`do $$ begin
      alter table webhooks.${table} detach partition webhooks.${table}_first;
      execute format('alter table webhooks.${table} attach partition webhooks.${table}_first for values from (minvalue) to (%L)',
        webhooks.first_id(date_trunc('week', now(), 'UTC') - interval '${weeksAgo * 7} days'));
      perform webhooks.make_partitions('${table}', 4);
    end $$`);
  }
  await database.close();
}

export function eventAt(lenderId: string, loan: string, sequence: number, at: Date): NumberedEvent {
  const eventId = idAt(at);
  const body = JSON.stringify({ eventId, loan, sequence });
  return {
    tenantId: lenderId,
    eventId,
    kind: "case.updated",
    stream: loan,
    sequence: BigInt(sequence),
    occurredAt: at,
    body,
  };
}

/** Makes a UUIDv7 of this time. */
export function idAt(at: Date): string {
  const milliseconds = at.getTime().toString(16).padStart(12, "0");
  return `${milliseconds.slice(0, 8)}-${milliseconds.slice(8)}${newId().slice(13)}`;
}
