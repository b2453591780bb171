import { isDistributed, migrate, newId, transaction } from "@collections/database";
import { createDatabase, type Database } from "@collections/entities";
import { testDatabase } from "@collections/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ImportedCase } from "../case/locked-case.ts";
import {
  BLOCKED,
  dayAt,
  distanceM,
  expected,
  held,
  type Held,
  isShrunk,
  LENDERS,
  ME,
  NOON,
  type Request,
  REQUESTS,
  SINGLES,
  visitsOf,
} from "../../tests/own-cases-example.ts";
import { CASE_SORTS, casesOfFieldPartner } from "./own-cases.ts";
import { NOW } from "../../tests/portfolios-example.ts";
import { latestVisitsOf, openPromisesOf } from "../visit/read-visits.ts";
import { casesSchema } from "../schema.ts";
import { insertCases } from "../case/write-cases.ts";

const plain = await databaseOfCases();
/**
 * The databases to test: the test database, and a single PostgreSQL with a fake of Citus's catalog. The fake makes
 * `isDistributed` return true, so that the queries for a cluster are sent.
 */
const kinds: [string, () => Promise<Database>][] = [["the test database", () => Promise.resolve(plain)]];
if (!(await isDistributed(plain.em()))) kinds.push(["a database that counts as distributed", databaseWithFakeCatalog]);

describe.each(kinds)("in %s", (_kind, open) => {
  let database: Database;

  beforeAll(async () => {
    database = await open();
    const theirs = held.map((one) => ({ ...one, case: asTheirs(one.case) }));
    for (const ofLender of Map.groupBy([...held, ...theirs], (one) => one.case.lenderId).values()) {
      await store(database, ofLender);
    }
  });

  afterAll(() => database.close());

  test.each(CASE_SORTS)(
    "every filter and search returns the same cases as a filter in plain TypeScript, sorted by %s",
    async (sort) => {
      const requests = REQUESTS.filter((request) => request.sort === sort);
      expect(requests.length).toBeGreaterThan(SINGLES.length + 50);
      for (const [index, request] of requests.entries()) {
        const listed = await allPages(request, [5, 12, 40, 100][index % 4]!);
        const wanted = expected(request);
        expect(listed.map(shownOf), JSON.stringify(request)).toEqual(
          wanted.map(({ case: it }) => ({
            id: it.id,
            borrowerName: isShrunk(it) ? "" : it.borrowerName,
            outstandingMinor: isShrunk(it) ? 0n : it.outstandingMinor,
            distanceM: request.near ? distanceM(it, request.near) : null,
          })),
        );
      }
    },
  );

  test("openPromisesOf returns the open promise of each case of all lenders", async () => {
    const keys = held.map(({ case: { lenderId, id } }) => ({ lenderId, caseId: id }));
    const promises = await openPromisesOf(database.em(), [...keys, ...keys, { lenderId: newId(), caseId: newId() }]);
    expect(new Map([...promises].map(([caseId, { dueOn }]) => [caseId, dueOn]))).toEqual(
      new Map(held.flatMap(({ case: { id }, promisedOn }) => (promisedOn === undefined ? [] : [[id, promisedOn]]))),
    );
  });

  test.each([1, 3, 20])("latestVisitsOf returns the last %d visits of each case of all lenders", async (first) => {
    const keys = held.map(({ case: { lenderId, id } }) => ({ lenderId, caseId: id }));
    const pages = await latestVisitsOf(database.em(), [...keys, ...keys], first);
    for (const { case: it } of held) {
      const all = visitsOf(it).toSorted((a, b) => b.at.getTime() - a.at.getTime() || (a.id > b.id ? -1 : 1));
      const { items, hasNext } = pages.get(it.id)!;
      expect(items.map(({ id }) => id)).toEqual(all.slice(0, first).map(({ id }) => id));
      expect(hasNext).toBe(all.length > first);
    }
  });

  async function allPages(request: Request, first: number) {
    const listed = [];
    let after: string | undefined;
    for (;;) {
      const list = { ...request, first, after, lenders: LENDERS, blockedLenderIds: BLOCKED, dayAt };
      const { items, hasNext } = await casesOfFieldPartner(database.em(), ME, list, NOON);
      listed.push(...items.map((item) => item.case));
      if (!hasNext) return listed;
      expect(items).toHaveLength(first);
      after = items.at(-1)!.cursor;
    }
  }
});

type Shown = Awaited<ReturnType<typeof casesOfFieldPartner>>["items"][number]["case"];

function shownOf({ id, borrowerName, outstandingMinor, distanceM: metres }: Shown) {
  return { id, borrowerName, outstandingMinor, distanceM: metres };
}

function asTheirs(it: ImportedCase): ImportedCase {
  return { ...it, id: newId(), assignedFieldPartnerId: newId(), sourceLoanNumber: `${it.sourceLoanNumber}-theirs` };
}

/** Inserts the cases of one lender with their visits and promises. */
async function store(database: Database, ofLender: readonly Held[]): Promise<void> {
  await transaction(database.em(), (tx) =>
    insertCases(
      tx,
      ofLender.map((one) => one.case),
      [],
      NOW,
    ),
  );
  for (const { case: it, promisedOn } of ofLender) {
    const made = visitsOf(it);
    for (const { id, at } of made) {
      await database.pool.query(
        `insert into cases.visit (lender_id, id, case_id, field_partner_id, started_at, start_received_at)
         values ($1, $2, $3, $4, $5, $5)`,
        [it.lenderId, id, it.id, it.assignedFieldPartnerId, at],
      );
    }
    const states = promisedOn === undefined ? ["broken"] : ["replaced", "open"];
    for (const state of states) {
      await database.pool.query(
        `insert into cases.promise (lender_id, id, case_id, visit_id, amount_minor, currency, due_on, state, created_at)
         values ($1, $2, $3, $4, 100, 'INR', $5, $6, $7)`,
        [it.lenderId, newId(), it.id, made[0]!.id, promisedOn ?? "2026-11-20", state, NOW],
      );
    }
  }
}

async function databaseOfCases(): Promise<Database> {
  const { url } = await testDatabase("cases", async (at) => void (await migrate({ url: at, schemas: [casesSchema] })));
  return createDatabase({ url, schemas: [casesSchema] });
}

/** Opens a database with the one table of Citus's catalog that `isDistributed` looks for. */
async function databaseWithFakeCatalog(): Promise<Database> {
  const database = await databaseOfCases();
  await database.pool.query(
    `create table public.pg_dist_partition (logicalrelid regclass primary key, partmethod "char", repmodel "char")`,
  );
  await database.pool.query("insert into public.pg_dist_partition values ('cases.collection_case', 'h', 's')");
  expect(await isDistributed(database.em())).toBe(true);
  return database;
}
