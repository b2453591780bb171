import { Client as PgClient } from "pg";
import { PgBoss } from "pg-boss";
import { answerQuestions } from "../load/child.ts";
import { type Client, closedLoop } from "../load/closed-loop.ts";
import { INSERT_CHANGE, NAIVE_QUEUE, type NaiveJob } from "./naive-change.ts";

/** The changes that the usual solution commits. Each change is in one transaction with its pg-boss job. */
export interface NaiveCommits {
  readonly databaseUrl: string;
  readonly clients: number;
  readonly jobs: readonly NaiveJob[];
}

const connections: PgClient[] = [];
let boss: PgBoss | undefined;

answerQuestions(async ({ databaseUrl, clients, jobs }: NaiveCommits) => {
  boss ??= await new PgBoss({ connectionString: databaseUrl, supervise: false, schedule: false }).start();
  while (connections.length < clients) {
    const connection = new PgClient({ connectionString: databaseUrl });
    await connection.connect();
    connections.push(connection);
  }
  const left = jobs.values();
  await closedLoop(
    connections.slice(0, clients).map((connection) => committer(connection, boss!, left)),
    { count: jobs.length },
  );
});

function committer(connection: PgClient, boss: PgBoss, left: Iterator<NaiveJob>): Client {
  const db = { executeSql: (text: string, values?: unknown[]) => connection.query(text, values) };
  return async () => {
    const job = left.next().value as NaiveJob;
    await connection.query("begin");
    await connection.query(INSERT_CHANGE, [job.deliveryId, job.body]);
    await boss.send(NAIVE_QUEUE, job, { db });
    await connection.query("commit");
  };
}
