import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { createDatabase, transaction } from "@collections/database";
import { endSession, signedInByToken } from "@collections/field-partners";
import { afterFile } from "@collections/testing";
import { beforeAll, expect, test, vi } from "vitest";
import { createWatchedLinks, type OwnLinkKey } from "../../src/graphql/plumbing/watched-links.ts";
import { startHttpServer } from "../../src/start/http-server.ts";
import { schemas } from "../../src/schemas.ts";
import { aFieldPartner, aLender, aRow, assign, startTestService, type TestService } from "../fixtures/fixture.ts";
import { AppClient } from "../fixtures/graphql-client.ts";

vi.setConfig({ testTimeout: 120_000 });

const WATCHERS = 50;
const PEOPLE = 5;
const WATCH = "subscription ($id: ID!) { paymentLinkUpdated(id: $id) { status } }";
/** What one look takes: who is still signed in, the links, their messages. A cluster may have a text of its own. */
const LOOK = [
  "field-partners.access-tokens-that-count",
  "payment-links.deliveries-of-links",
  "payment-links.own-links",
] as const;

interface Watched {
  readonly linkId: string;
  readonly accessToken: string;
}

const statements: string[] = [];
let service: TestService;
let countedUrl: string;
let watched: Watched[];

beforeAll(async () => {
  service = await startTestService({ works: false, settings: { RATE_LIMITS: "off" } });
  watched = await requestedLinks();
  const database = await createDatabase({
    url: service.databaseUrl,
    schemas,
    onStatement: ({ name, text }) => statements.push((name ?? text).replace(/-on-cluster$/, "")),
  });
  const server = await startHttpServer({ ...service.app, database });
  countedUrl = server.url;
  afterFile(async () => {
    await server.stop(1_000);
    await database.close();
  });
});

test(`a look takes ${LOOK.length} statements for 1 watcher and for ${WATCHERS}, and each is told of its own end only`, async () => {
  const streams = [await begun(watched[0]!)];
  expect(await statementsOfALook()).toEqual(LOOK);
  streams.push(...(await Promise.all(watched.slice(1).map(begun))));
  expect(await statementsOfALook()).toEqual(LOOK);

  const [{ accessToken }] = watched as [Watched];
  const { sessionId, fieldPartner } = (await signedInByToken(service.app.database.em(), accessToken, new Date()))!;
  const end = { sessionId, fieldPartnerId: fieldPartner.id, reason: "signed_out" } as const;
  await transaction(service.app.database.em(), (tx) => endSession(tx, end, new Date()));
  const isEnded = (one: Watched) => one.accessToken === accessToken;
  const next = await Promise.all(streams.filter((_, at) => isEnded(watched[at]!)).map((stream) => stream.next()));
  expect(next).toHaveLength(WATCHERS / PEOPLE);
  for (const { value } of next) expect(value).toMatchObject({ errors: [{ extensions: { code: "UNAUTHENTICATED" } }] });

  // Nobody else's has ended: they hear of what happens to their links.
  const others = streams.filter((_, at) => !isEnded(watched[at]!)).map((stream) => stream.next());
  await service.app.database.pool.query("update payment_links.payment_link set updated_at = now()");
  const told = await Promise.all(others);
  for (const { value } of told) expect(value).toMatchObject({ data: { paymentLinkUpdated: { status: "REQUESTED" } } });
});

test("a look that the database cuts short ends nobody's watching", async () => {
  // Those whose session goes on.
  const last = watched.filter((_, at) => at % PEOPLE === PEOPLE - 1);
  const streams = await Promise.all(last.map(begun));
  const { pool } = service.app.database;
  const holder = await pool.connect();
  try {
    await holder.query("begin; lock table payment_links.payment_link in access exclusive mode");
    const cut = `select pg_terminate_backend(pid) from pg_locks where not granted and locktype = 'relation'
      and database = (select oid from pg_database where datname = current_database())`;
    await expect.poll(async () => (await pool.query(cut)).rowCount, { timeout: 30_000 }).toBe(1);
  } finally {
    await holder.query("rollback");
    holder.release();
  }
  await pool.query("update payment_links.payment_link set updated_at = now()");
  const told = await Promise.all(streams.map((stream) => stream.next()));
  for (const { value } of told) expect(value).toMatchObject({ data: { paymentLinkUpdated: { status: "REQUESTED" } } });
});

test("who looks at another's link together with its owner sees nothing of it", async () => {
  const { rows } = await service.app.database.pool.query<OwnLinkKey>(
    'select lender_id as "lenderId", id, field_partner_id as "fieldPartnerId" from payment_links.payment_link order by id',
  );
  const [mine] = rows as [OwnLinkKey];
  const another = rows.find(({ fieldPartnerId }) => fieldPartnerId !== mine.fieldPartnerId)!;
  const looks = createWatchedLinks(service.app.database);
  const seen = await Promise.all([
    looks.link(mine),
    looks.link({ ...mine, fieldPartnerId: another.fieldPartnerId }),
    looks.link({ ...another, fieldPartnerId: mine.fieldPartnerId }),
    looks.link(another),
  ]);
  expect(seen.map((one) => one?.link.id)).toEqual([mine.id, undefined, undefined, another.id]);
});

/** Waits for the next look at everything, and for its end. */
async function statementsOfALook(): Promise<string[]> {
  statements.length = 0;
  await expect.poll(() => statements.length, { timeout: 30_000 }).toBeGreaterThanOrEqual(LOOK.length);
  await pause(500);
  return statements.toSorted();
}

async function begun({ linkId, accessToken }: Watched) {
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
      const wish = { visitId, amount: { minor: "250000", currency: "INR" }, channels: [] };
      const { paymentLink } = await app.mutate("requestPaymentLink", wish, "paymentLink { id }");
      return { linkId: paymentLink.id, accessToken };
    }),
  );
}
