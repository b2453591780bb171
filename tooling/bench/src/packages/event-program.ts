import { randomUUID } from "node:crypto";
import { createDatabase, inTransaction, migrate, newId, transaction } from "@collections/database";
import { Pool } from "pg";
import { PgBoss } from "pg-boss";
import { CREATE_CHANGE_TABLE, INSERT_CHANGE, installNaiveQueue, NAIVE_QUEUE } from "../webhooks/naive-change.ts";
import type { LenderRole } from "../webhooks/sender.ts";
import { inOneTransaction } from "./key-table.ts";
import { CONNECTIONS } from "./ledger-program.ts";
import { webhooksPackage } from "./webhooks-package.ts";

/** A host that commits a change of its own together with an event. */
export interface EventProgram {
  readonly name: string;
  /** Commits a change and its event for the endpoint of a role. */
  commit(role: LenderRole): Promise<void>;
  /** Returns how many changes and how many events are in the database. */
  counts(): Promise<{ readonly changes: number; readonly events: number }>;
  close(): Promise<void>;
}

/** A host that uses `@collections/webhooks`. */
export interface OurEvents extends EventProgram {
  /** The tenant of each role. */
  readonly tenantIds: Readonly<Record<LenderRole, string>>;
}

export const OURS = "@collections/webhooks";
export const BY_HAND = "pg-boss by hand";

/** The events of a tenant belong to this many streams. */
const STREAMS = 1_000;
const KIND = "invoice.paid";

/** The body of an event, which both programs send. */
export const BODY = JSON.stringify({
  kind: KIND,
  occurredAt: "2026-11-30T09:30:00.000Z",
  invoice: { number: "INV-1001", customer: "CUS-77", amount: { currency: "EUR", minor: 125_000 }, state: "paid" },
  payment: { reference: "UTR2026113000017", method: "transfer", paidAt: "2026-11-30T09:29:58.120Z" },
});

/** Starts a host that emits events in its own transactions, as the README of the package shows it. No worker runs. */
export async function startOurEvents(url: string, urls: Readonly<Record<LenderRole, string>>): Promise<OurEvents> {
  const { emit, upsertEndpoint, webhooksSchema } = await webhooksPackage();
  const schemas = [webhooksSchema];
  await migrate({ url, schemas, jobs: true });
  const database = await createDatabase({ url, schemas });
  const pool = new Pool({ connectionString: url, max: CONNECTIONS });
  await pool.query(CREATE_CHANGE_TABLE);
  const tenantIds = { prompt: newId(), slow: newId() };
  await transaction(database.em(), async (tx) => {
    for (const role of ["prompt", "slow"] as const) {
      await upsertEndpoint(tx, { tenantId: tenantIds[role], url: urls[role] });
    }
  });
  return {
    name: OURS,
    tenantIds,
    async commit(role) {
      const stream = `INV-${Math.floor(Math.random() * STREAMS)}`;
      await inTransaction(database, pool, async (tx, client) => {
        await client.query({ name: "change", text: INSERT_CHANGE, values: [randomUUID(), BODY] });
        await emit(tx, [{ tenantId: tenantIds[role], kind: KIND, stream, occurredAt: new Date(), body: BODY }]);
      });
    },
    counts: () => countsIn(pool, "webhooks.event"),
    async close() {
      await pool.end();
      await database.close();
    },
  };
}

/** Starts a host that writes one job of pg-boss in the transaction of the change. No worker runs. */
export async function startNaiveEvents(url: string, urls: Readonly<Record<LenderRole, string>>): Promise<EventProgram> {
  await installNaiveQueue(url);
  const pool = new Pool({ connectionString: url, max: CONNECTIONS });
  await pool.query(CREATE_CHANGE_TABLE);
  const boss = await new PgBoss({ connectionString: url, supervise: false, schedule: false }).start();
  return {
    name: BY_HAND,
    commit: (role) =>
      inOneTransaction(pool, async (client) => {
        const db = { executeSql: (text: string, values?: unknown[]) => client.query(text, values) };
        const deliveryId = randomUUID();
        await client.query({ name: "change", text: INSERT_CHANGE, values: [deliveryId, BODY] });
        await boss.send(NAIVE_QUEUE, { url: urls[role], deliveryId, kind: KIND, body: BODY }, { db });
      }),
    counts: () => countsIn(pool, "pgboss.job"),
    async close() {
      await boss.stop({ graceful: false });
      await pool.end();
    },
  };
}

async function countsIn(pool: Pool, events: string): Promise<{ changes: number; events: number }> {
  const { rows } = await pool.query<{ changes: number; events: number }>(
    `select (select count(*)::int from change) as changes, (select count(*)::int from ${events}) as events`,
  );
  return rows[0]!;
}
