import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { createDatabase } from "@collections/entities";
import { afterFile } from "@collections/testing";
import { beforeAll, expect, test, vi } from "vitest";
import { createWatchedLinks, type OwnLinkKey, READ_EVERY_MS } from "../../src/graphql/plumbing/watched-links.ts";
import { startHttpServer } from "../../src/start/http-server.ts";
import { jobsSchema, schemas } from "../../src/schemas.ts";
import {
  aFieldPartner,
  aLender,
  aRow,
  assign,
  signOut,
  startTestService,
  type TestService,
} from "../fixtures/fixture.ts";
import { AppClient } from "../fixtures/graphql-client.ts";

const WATCHERS = 50;
const PEOPLE = 5;
const WATCH = "subscription ($id: ID!) { paymentLinkUpdated(id: $id) { status } }";
/**
 * The names of the queries of one poll, in alphabetical order. They read the sessions, the deliveries and the links. A
 * cluster uses variants of some queries, whose names end in `-on-cluster`.
 */
const POLL = [
  "field-partners.access-tokens-that-count",
  "payment-links.deliveries-of-links",
  "payment-links.own-links",
] as const;

interface Watched {
  readonly linkId: string;
  readonly accessToken: string;
}

const queries: string[] = [];
let service: TestService;
let countedUrl: string;
let watched: Watched[];

beforeAll(async () => {
  // Replace `setInterval`, so that the polls of the watched links run only when the test starts them. All other waits
  // use other timers.
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  afterFile(() => vi.useRealTimers());
  service = await startTestService({ hasWorker: false, settings: { RATE_LIMITS: "off" } });
  watched = await requestedLinks();
  const database = await createDatabase({
    url: service.databaseUrl,
    schemas,
    jobsSchema,
    onStatement: ({ name, text }) => queries.push((name ?? text).replace(/-on-cluster$/, "")),
  });
  const server = await startHttpServer({ ...service.app, database });
  countedUrl = server.url;
  afterFile(async () => {
    await server.stop(1_000);
    await database.close();
  });
});

test(`a poll of the watched links takes ${POLL.length} SQL queries for 1 or ${WATCHERS} watchers, and ends only the streams whose session has ended`, async () => {
  const streams = [await openStream(watched[0]!)];
  expect(await queriesOfAPoll()).toEqual(POLL);
  streams.push(...(await Promise.all(watched.slice(1).map(openStream))));
  expect(await queriesOfAPoll()).toEqual(POLL);

  const [{ accessToken }] = watched as [Watched];
  await signOut(service, accessToken);
  startPoll();
  const isEnded = (one: Watched) => one.accessToken === accessToken;
  const next = await Promise.all(streams.filter((_, at) => isEnded(watched[at]!)).map((stream) => stream.next()));
  expect(next).toHaveLength(WATCHERS / PEOPLE);
  for (const { value } of next) expect(value).toMatchObject({ errors: [{ extensions: { code: "UNAUTHENTICATED" } }] });

  // The streams of the people who did not sign out go on: they get the updates of their links.
  const others = streams.filter((_, at) => !isEnded(watched[at]!)).map((stream) => stream.next());
  await service.app.database.pool.query("update payment_links.payment_link set updated_at = now()");
  startPoll();
  const updates = await Promise.all(others);
  for (const { value } of updates)
    expect(value).toMatchObject({ data: { paymentLinkUpdated: { status: "REQUESTED" } } });
});

test("a poll of the watched links that fails in the database ends no watcher's stream", async () => {
  // Use the watchers of a person whose session the previous test has not ended.
  const last = watched.filter((_, at) => at % PEOPLE === PEOPLE - 1);
  const streams = await Promise.all(last.map(openStream));
  const { pool } = service.app.database;
  const holder = await pool.connect();
  try {
    await holder.query("begin; lock table payment_links.payment_link in access exclusive mode");
    const cut = `select pg_terminate_backend(pid) from pg_locks where not granted and locktype = 'relation'
      and database = (select oid from pg_database where datname = current_database())`;
    await expect.poll(async () => (await pool.query(cut)).rowCount).toBe(1);
  } finally {
    await holder.query("rollback");
    holder.release();
  }
  await pool.query("update payment_links.payment_link set updated_at = now()");
  startPoll();
  const updates = await Promise.all(streams.map((stream) => stream.next()));
  for (const { value } of updates)
    expect(value).toMatchObject({ data: { paymentLinkUpdated: { status: "REQUESTED" } } });
});

test("a field partner who watches another field partner's link gets nothing, even while its owner watches the link", async () => {
  const { rows } = await service.app.database.pool.query<OwnLinkKey>(
    'select lender_id as "lenderId", id, field_partner_id as "fieldPartnerId" from payment_links.payment_link order by id',
  );
  const [mine] = rows as [OwnLinkKey];
  const another = rows.find(({ fieldPartnerId }) => fieldPartnerId !== mine.fieldPartnerId)!;
  const watchedLinks = createWatchedLinks(service.app.database);
  const seen = await Promise.all([
    watchedLinks.link(mine),
    watchedLinks.link({ ...mine, fieldPartnerId: another.fieldPartnerId }),
    watchedLinks.link({ ...another, fieldPartnerId: mine.fieldPartnerId }),
    watchedLinks.link(another),
  ]);
  expect(seen.map((one) => one?.link.id)).toEqual([mine.id, undefined, undefined, another.id]);
});

/** Starts a poll of all links, and returns the names of its queries. */
async function queriesOfAPoll(): Promise<string[]> {
  queries.length = 0;
  startPoll();
  // `expect.poll` would let the replaced time pass, and so start another poll.
  while (queries.length < POLL.length) await pause(10);
  await pause(500);
  return queries.toSorted();
}

function startPoll(): void {
  vi.advanceTimersByTime(READ_EVERY_MS);
}

async function openStream({ linkId, accessToken }: Watched) {
  const stream = new AppClient(countedUrl, accessToken).watch(WATCH, { id: linkId });
  expect((await stream.next()).value).toMatchObject({ data: { paymentLinkUpdated: { status: "REQUESTED" } } });
  return stream;
}

async function requestedLinks(): Promise<Watched[]> {
  const lender = await aLender(service);
  const loans = Array.from({ length: WATCHERS }, (_, index) => `WATCHED-${index}`);
  await lender.importCases(loans.map((loan) => aRow(loan)));
  const people = await Promise.all(Array.from({ length: PEOPLE }, () => aFieldPartner(service)));
  const { rows } = await service.app.database.pool.query<{ id: string; loan: string }>(
    "select id, source_loan_number as loan from cases.collection_case",
  );
  const caseIds = new Map(rows.map(({ id, loan }) => [loan, Buffer.from(`Case:${id}`).toString("base64url")]));
  return Promise.all(
    loans.map(async (loan, index) => {
      const { id, accessToken } = people[index % PEOPLE]!;
      await assign(service, lender.code, loan, id);
      const app = new AppClient(service.url, accessToken);
      const visitId = randomUUID();
      await app.mutate(
        "startVisit",
        { visitId, caseId: caseIds.get(loan), occurredAt: new Date() },
        "visit { visitId }",
      );
      const linkRequest = { visitId, amount: { minor: "250000", currency: "INR" }, channels: [] };
      const { paymentLink } = await app.mutate("requestPaymentLink", linkRequest, "paymentLink { id }");
      return { linkId: paymentLink.id, accessToken };
    }),
  );
}
