import { randomUUID } from "node:crypto";
import { migrate } from "@collections/database";
import { afterFile, testDatabase } from "@collections/testing";
import { Client } from "pg";
import { beforeAll, expect, inject, test } from "vitest";
import { jobsSchema, schemas } from "../../src/schemas.ts";
import { aFaultyRelay, type Fault, type FaultyRelay } from "./fixtures/faulty-relay.ts";
import { aFieldPartner, aLender, aRow, assign, startTestService } from "../fixtures/fixture.ts";
import { AppClient, type Selected } from "../fixtures/graphql-client.ts";

// A mutation of the app writes its result on the coordinator and its rows on a worker node. These tests inject a fault
// at each message of a mutation: they break the connection or terminate the coordinator's process. They do so for
// messages from the service to the coordinator, and from the coordinator to a worker node, including PREPARE
// TRANSACTION and COMMIT PREPARED.

/**
 * A limit above the number of messages that a mutation sends on the connection from the service to the coordinator, or
 * on the connection from the coordinator to a worker node.
 */
const MOST_MESSAGES = 120;

let admin: Client;
let app: AppClient;
let relays: { readonly coordinator: FaultyRelay; readonly worker: FaultyRelay };
let world: {
  readonly lender: Awaited<ReturnType<typeof aLender>>;
  readonly lenderId: string;
  readonly fieldPartnerId: string;
  /** The ids of cases without a visit. */
  readonly caseIds: string[];
};
let service: Awaited<ReturnType<typeof startTestService>>;
let loans = 0;

beforeAll(async () => {
  const { url } = await testDatabase(
    "service",
    async (at) => void (await migrate({ url: at, schemas, jobsSchema, jobs: true })),
  );
  admin = new Client({ connectionString: url });
  await admin.connect();
  afterFile(() => admin.end());
  relays = { coordinator: await aFaultyRelay(url), worker: await aFaultyRelay(inject("workerUrls")[0]!) };
  await admin.query("update pg_dist_node set nodeport = $2 where groupid > 0 and nodeport = $1", [
    Number(new URL(inject("workerUrls")[0]!).port),
    relays.worker.port,
  ]);
  const relayed = new URL(url);
  relayed.port = String(relays.coordinator.port);
  service = await startTestService({ hasWorker: false, settings: { DATABASE_URL: relayed.href } });
  const lender = await aLenderOnTheFirstWorker();
  const { id: fieldPartnerId, accessToken } = await aFieldPartner(service);
  app = new AppClient(service.url, accessToken);
  world = { lender, lenderId: await lenderId(lender.code), fieldPartnerId, caseIds: [] };
});

type Mutation = "startVisit" | "completeVisit" | "requestPaymentLink";

/** How to run a mutation, and queries that count the rows it writes. */
interface Story {
  /** Does what must happen before the mutation, such as starting the visit. Runs before the fault is set up. */
  prepare(visit: Visit): Promise<unknown>;
  input(visit: Visit): object;
  readonly selection: string;
  /** Queries that count the rows which the mutation writes. `$1` is the visit, `$2` the lender. */
  readonly written: readonly string[];
}

interface Visit {
  readonly caseId: string;
  readonly visitId: string;
}

const AMOUNT = { minor: "250000", currency: "INR" };
const started = (visit: Visit) => mutate("startVisit", randomUUID(), STORIES.startVisit.input(visit));
const EVENTS = `select count(*)::int from webhooks.event where lender_id = $2
  and body like '%vis_' || replace($1, '-', '') || '%' and kind = `;

const STORIES: Readonly<Record<Mutation, Story>> = {
  startVisit: {
    prepare: () => Promise.resolve(),
    input: ({ caseId, visitId }) => ({
      caseId: Buffer.from(`Case:${caseId}`).toString("base64"),
      visitId,
      occurredAt: "2026-11-22T10:00:00Z",
    }),
    selection: "visit { visitId }",
    written: [
      "select count(*)::int from cases.visit where lender_id = $2 and id = $1::uuid",
      `${EVENTS} 'visit.started'`,
    ],
  },
  completeVisit: {
    prepare: started,
    input: ({ visitId }) => ({ visitId, disposition: "DOOR_LOCKED", occurredAt: "2026-11-22T10:10:00Z" }),
    selection: "visit { visitId }",
    written: [
      "select count(*)::int from cases.visit where lender_id = $2 and id = $1::uuid and completed_at is not null",
      `${EVENTS} 'visit.completed'`,
    ],
  },
  requestPaymentLink: {
    prepare: started,
    input: ({ visitId }) => ({ visitId, amount: AMOUNT, channels: [] }),
    selection: "paymentLink { id }",
    written: [
      "select count(*)::int from payment_links.payment_link where lender_id = $2 and visit_id = $1::uuid",
      // A job contains the id of its link, and the link contains the id of its visit.
      `select count(*)::int from pgboss.job where data ->> 'linkId' = any (
         select id::text from payment_links.payment_link where lender_id = $2 and visit_id = $1::uuid)`,
    ],
  },
};

let ended = 0;

/** A session that waits for the held message cannot end before that message is delivered. */
const END_LIMIT_MS = 2_000;

/**
 * Terminates the service's PostgreSQL processes on the coordinator. Citus' own processes continue, because they commit
 * or roll back prepared transactions. Waits until the terminated sessions have ended, before the next message is
 * delivered. Otherwise a session could still execute a COMMIT, which nothing undoes.
 */
async function endProcessesOfTheService(): Promise<void> {
  const { rowCount } = await admin.query(`select pg_terminate_backend(pid, ${END_LIMIT_MS}) from pg_stat_activity
    where datname = current_database() and application_name = 'collections-all'`);
  ended += rowCount!;
}

const FAULTS: Readonly<Record<string, Fault>> = {
  "the message is lost": "unsent",
  "the answer is lost": "unanswered",
  "the coordinator's processes are terminated": endProcessesOfTheService,
};

const points = (Object.keys(STORIES) as Mutation[]).flatMap((mutation) =>
  (["coordinator", "worker"] as const).flatMap((relay) =>
    Object.keys(FAULTS).map((fault) => [mutation, relay, fault] as const),
  ),
);

test.each(points)(
  "%s commits all of its rows or none after a fault at any message on the connection to the %s: %s",
  async (...point) => {
    const [mutation, relay, fault] = point;
    let played = 0;
    ended = 0;
    while (played < MOST_MESSAGES && (await play(mutation, relays[relay], played + 1, FAULTS[fault]!))) played += 1;
    process.stdout.write(`${mutation}, ${relay}, ${fault}: ${played} messages\n`);
    expect(played).toBeGreaterThan(1);
    expect(ended).toBeGreaterThanOrEqual(FAULTS[fault] === endProcessesOfTheService ? played : 0);
    expect(played).toBeLessThan(MOST_MESSAGES);
  },
);

/**
 * Applies the fault to the given message of the mutation, then repeats the mutation. Returns false if the mutation sent
 * no such message.
 */
async function play(mutation: Mutation, relay: FaultyRelay, message: number, fault: Fault): Promise<boolean> {
  const visit = await aVisit();
  const story = STORIES[mutation];
  await story.prepare(visit);
  const key = randomUUID();
  relay.arm(message, fault);
  const first = await mutate(mutation, key, story.input(visit)).catch(() => undefined);
  const hasHappened = relay.disarm();
  await recovered();

  const results = await resultsOf(key);
  expect(await writtenFor(visit, story), `message ${message}`).toEqual(story.written.map(() => results));
  expect(results).toBeGreaterThanOrEqual(first ? 1 : 0);

  const repeated = await mutate(mutation, key, story.input(visit));
  expect(repeated).toEqual(first ?? repeated);
  expect(await mutate(mutation, key, story.input(visit))).toEqual(repeated);
  expect(await writtenFor(visit, story), `message ${message}, repeated`).toEqual(story.written.map(() => 1));
  return hasHappened;
}

async function mutate(mutation: Mutation, idempotencyKey: string, input: object): Promise<Selected> {
  const answer = await app.mutate(mutation, { idempotencyKey, ...input }, STORIES[mutation].selection);
  if ("code" in answer) throw new Error(JSON.stringify(answer));
  return answer;
}

/** Returns a new visit on a case that has no visit yet. Imports more cases when none is left. */
async function aVisit(): Promise<Visit> {
  const { lender, fieldPartnerId, caseIds } = world;
  if (caseIds.length === 0) {
    const names = Array.from({ length: 50 }, () => `TOGETHER-${(loans += 1)}`);
    await lender.importCases(names.map((loan) => aRow(loan)));
    for (const loan of names) await assign(service, lender.code, loan, fieldPartnerId);
    const { rows } = await admin.query<{ id: string }>(
      "select id from cases.collection_case where lender_id = $1 and source_loan_number = any ($2)",
      [world.lenderId, names],
    );
    caseIds.push(...rows.map(({ id }) => id));
  }
  return { caseId: caseIds.pop()!, visitId: randomUUID() };
}

/**
 * Makes the coordinator commit or roll back the prepared transactions on the worker nodes now; by itself it does so
 * once a minute. Until then, no query sees the rows of such a transaction, although the mutation may have been
 * answered.
 */
async function recovered(): Promise<void> {
  // A delayed message may still reach the worker node after the coordinator's process has ended, and prepare a
  // transaction.
  await expect.poll(() => onWorkers(OPEN_TRANSACTIONS)).toBe(0);
  await expect
    .poll(async () => {
      await admin.query("select recover_prepared_transactions()");
      return onWorkers("select count(*) from pg_prepared_xacts where database = current_database()");
    })
    .toBe(0);
}

const OPEN_TRANSACTIONS = `select count(*) from pg_stat_activity
  where datname = current_database() and backend_type = 'client backend' and state <> 'idle' and pid <> pg_backend_pid()`;

/** Runs a counting query on all worker nodes and returns the sum of the results. */
async function onWorkers(count: string): Promise<number> {
  const { rows } = await admin.query<{ sum: number }>("select sum(result::int)::int from run_command_on_workers($1)", [
    count,
  ]);
  return rows[0]!.sum;
}

async function resultsOf(key: string): Promise<number> {
  const { rows } = await admin.query("select from field_partners.mutation_result where key = $1", [key]);
  return rows.length;
}

async function writtenFor({ visitId }: Visit, { written }: Story): Promise<number[]> {
  const values = [visitId, world.lenderId];
  const counts: number[] = [];
  for (const text of written) counts.push((await admin.query<{ count: number }>(text, values)).rows[0]!.count);
  return counts;
}

async function lenderId(code: string): Promise<string> {
  const { rows } = await admin.query<{ id: string }>("select id from lenders.lender where code = $1", [code]);
  return rows[0]!.id;
}

/** Creates lenders until the rows of one are stored on the worker node behind the relay, and returns that lender. */
async function aLenderOnTheFirstWorker(): Promise<Awaited<ReturnType<typeof aLender>>> {
  for (;;) {
    const lender = await aLender(service);
    const { rows } = await admin.query<{ port: number }>(
      `select nodeport as port from citus_shards
       where shardid = get_shard_id_for_distribution_column('cases.visit', $1::uuid)`,
      [await lenderId(lender.code)],
    );
    if (rows[0]!.port === relays.worker.port) return lender;
  }
}
