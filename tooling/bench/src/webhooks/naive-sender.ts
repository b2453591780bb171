import { randomUUID } from "node:crypto";
import { Client } from "pg";
import { startChild } from "../load/child.ts";
import { CREATE_CHANGE_TABLE, installNaiveQueue, NAIVE_QUEUE, type NaiveJob } from "./naive-change.ts";
import type { NaiveCommits } from "./naive-commits.ts";
import type { NaiveSettings, NaiveWorkerQuestion } from "./naive-worker.ts";
import type { Callbacks } from "./receiver.ts";
import { pollUntil, type Sender } from "./sender.ts";

export interface NaiveSenderOptions {
  /** The URL of an empty database, on the same PostgreSQL server as the service's database. */
  readonly databaseUrl: string;
  /** Bodies of events of the service. The usual solution posts them again and again. */
  readonly bodies: readonly string[];
  readonly callbacks: Callbacks;
}

/**
 * The pg-boss settings with which the usual solution was fastest. Settings from batches of 1 with 16 workers to batches
 * of 256 with 2 workers were tried.
 */
export const NAIVE_SETTINGS: NaiveSettings = { batchSize: 64, localConcurrency: 4, perJobResults: true };

/**
 * Starts the usual solution for events, with which the service is compared. It writes one pg-boss job per event, in the
 * transaction of the change. A worker signs and posts the events. It keeps no order and no log of attempts, and does
 * not isolate lenders from each other.
 */
export async function startNaiveSender({ databaseUrl, bodies, callbacks }: NaiveSenderOptions): Promise<Sender> {
  await installNaiveQueue(databaseUrl);
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  await client.query(CREATE_CHANGE_TABLE);
  const [commits, worker] = [
    startChild(new URL("naive-commits.ts", import.meta.url)),
    startChild(new URL("naive-worker.ts", import.meta.url)),
  ];
  const work: NaiveWorkerQuestion = { ask: "work", databaseUrl, settings: NAIVE_SETTINGS };
  await worker.ask(work);

  function jobFor(url: string, index: number): NaiveJob {
    const deliveryId = `evt_${randomUUID().replaceAll("-", "")}`;
    return { url, deliveryId, kind: "payment.collected", body: bodies[index % bodies.length]! };
  }

  async function nothingWaits(): Promise<boolean> {
    const { rows } = await client.query<{ waits: boolean }>(
      "select exists (select from pgboss.job where name = $1 and state <> 'completed') as waits",
      [NAIVE_QUEUE],
    );
    return rows[0]?.waits === false;
  }

  return {
    pid: worker.pid,
    async commit(role, count, clients) {
      const jobs = Array.from({ length: count }, (_, index) => jobFor(callbacks[role], index));
      await commits.ask({ databaseUrl, clients, jobs } satisfies NaiveCommits);
    },
    // Stops the delivery to all lenders, not only to the lender `role`, because the events of all lenders are in one
    // queue.
    hold: () => worker.ask({ ask: "rest" } satisfies NaiveWorkerQuestion),
    resume: () => worker.ask(work),
    untilNothingWaits: () => pollUntil(nothingWaits, "pg-boss did not complete all jobs in time."),
    async committedAtMs(deliveryIds) {
      const { rows } = await client.query<{ id: string; atMs: number }>(
        `select id, (extract(epoch from pg_xact_commit_timestamp(xmin)) * 1000)::float8 as "atMs"
         from change where id = any ($1)`,
        [deliveryIds],
      );
      return new Map(rows.map(({ id, atMs }) => [id, atMs]));
    },
    async lastAcknowledgedAtMs() {
      const { rows } = await client.query<{ atMs: number }>(
        `select (extract(epoch from max(completed_on)) * 1000)::float8 as "atMs" from pgboss.job where name = $1`,
        [NAIVE_QUEUE],
      );
      return rows[0]!.atMs;
    },
    async close() {
      await Promise.all([client.end(), commits.stop(), worker.stop()]);
    },
  };
}
