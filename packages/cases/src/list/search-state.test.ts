import { migrate, newId, query, statement, transaction } from "@collections/database";
import { createDatabase, type Database } from "@collections/entities";
import { directUrl, emptyDatabase } from "@collections/testing";
import { afterAll, describe, expect, test } from "vitest";
import { casesDatabase } from "../../tests/cases-database.ts";
import { exampleCase } from "../../tests/example-case.ts";
import { applyPayment } from "../case/apply-payment.ts";
import { CASE_STATUSES } from "../case/case-status.ts";
import type { ImportedCase, LockedCase } from "../case/locked-case.ts";
import { transition, type Trigger } from "../case/transitions.ts";
import { insertCases, writeCases, writeCaseStates, writeImportedCases } from "../case/write-cases.ts";
import { casesSchema } from "../schema.ts";
import { searchStatesMigration } from "../migrations/0018-search-states.ts";
import { visitTimesMigration } from "../migrations/0020-visit-times.ts";
import { statusGroupsMigration } from "../migrations/0021-status-groups.ts";

const database = await casesDatabase();
const NOW = new Date("2026-11-20T10:00:00Z");

interface State {
  readonly status: string | null;
  readonly band: number | null;
  /** Changes whenever a transaction writes the row. */
  readonly version: string;
}

const selectState = statement(
  "test.search-state",
  `select status, dpd_band as band, xmin::text as version from cases.search_state where lender_id = $1 and case_id = $2`,
);

async function stateOf({ lenderId, id }: LockedCase): Promise<State | undefined> {
  const [state] = await query<State>(database.em(), selectState, [lenderId, id]);
  return state;
}

async function inserted(overrides: Partial<ImportedCase> = {}): Promise<ImportedCase> {
  const theCase = exampleCase(overrides);
  await transaction(database.em(), (tx) => insertCases(tx, [theCase], [], NOW));
  return theCase;
}

/** Applies triggers to a stored case one after the other, and returns the case. */
async function moved(theCase: LockedCase, ...triggers: readonly Trigger[]): Promise<LockedCase> {
  let caseAfter = theCase;
  for (const trigger of triggers) {
    const verdict = transition(caseAfter, trigger, NOW);
    if (!verdict.allowed) throw new Error(verdict.refusal.detail);
    caseAfter = verdict.caseAfter;
    await transaction(database.em(), async (tx) => writeCaseStates(tx, [caseAfter], NOW));
  }
  return caseAfter;
}

async function paid(theCase: LockedCase, amountMinor: bigint): Promise<LockedCase> {
  const { caseAfter } = applyPayment(theCase, { amountMinor, paidAt: NOW }, NOW);
  await transaction(database.em(), async (tx) => writeCases(tx, [caseAfter], NOW));
  return caseAfter;
}

const assign: Trigger = { kind: "assign", fieldPartnerId: newId() };
const hold: Trigger = { kind: "hold", reason: "asked" };

describe("the status of a search state", () => {
  test.each<[title: string, triggers: readonly Trigger[], status: string | null]>([
    ["an assignment", [assign], null],
    ["a hold", [hold], "on_hold"],
    ["a release", [hold, { kind: "release" }], null],
    ["an end by an operator", [{ kind: "close", reason: "asked" }], "closed"],
    ["a settlement", [{ kind: "settle", reason: null }], "closed"],
    ["a withdrawal", [hold, { kind: "withdraw", reason: "asked" }], "withdrawn"],
  ])("is right after %s", async (_, triggers, status) => {
    const theCase = await moved(await inserted(), ...triggers);
    expect((await stateOf(theCase))?.status).toBe(status);
  });

  test("is null after a payment on a held or withdrawn case", async () => {
    const held = await paid(await moved(await inserted(), hold), 1n);
    const withdrawn = await paid(await moved(await inserted(), { kind: "withdraw", reason: null }), 500_000n);
    expect([held.status, withdrawn.status]).toEqual(["in_progress", "collected"]);
    expect([(await stateOf(held))?.status, (await stateOf(withdrawn))?.status]).toEqual([null, null]);
  });
});

describe("the band of days past due", () => {
  test.each([
    [0, 0],
    [1, 1],
    [30, 1],
    [31, 2],
    [60, 2],
    [61, 3],
    [36_500, 1217],
  ])("of %s days is %s", async (dpd, band) => {
    expect((await stateOf(await inserted({ dpd })))?.band).toBe(band);
  });

  test("follows imports, and is written only if it changes", async () => {
    const theCase = await inserted({ dpd: 29 });
    const imported = async (dpd: number | null) => {
      await transaction(database.em(), async (tx) => writeImportedCases(tx, [{ ...theCase, dpd }], NOW));
      return stateOf(theCase);
    };
    const first = await stateOf(theCase);
    expect(await imported(30)).toEqual(first);
    const second = await imported(31);
    expect(second).toMatchObject({ band: 2 });
    expect(await imported(45)).toEqual(second);
    expect(await imported(null)).toMatchObject({ band: null });
  });
});

test("a case of an earlier cycle has no search state", async () => {
  const earlier = await moved(await inserted({ dpd: 45 }), { kind: "close", reason: null });
  const newer = exampleCase({ ...earlier, id: newId(), cycle: 2, status: "new", dpd: 3 });
  await transaction(database.em(), (tx) => insertCases(tx, [newer], [earlier], NOW));
  expect(await stateOf(earlier)).toMatchObject({ status: null, band: null });
  expect(await stateOf(newer)).toMatchObject({ status: null, band: 1 });
});

describe("the group of a search state", () => {
  const selectGroup = statement(
    "test.status-group",
    `select status_group as "group" from cases.search_state where lender_id = $1 and case_id = $2`,
  );
  const groupOf = async ({ lenderId, id }: LockedCase) =>
    (await query<{ group: string | null }>(database.em(), selectGroup, [lenderId, id]))[0]?.group;

  test.each<[title: string, triggers: readonly Trigger[], group: string]>([
    ["an import", [], "open_unassigned"],
    ["an assignment", [assign], "open"],
    ["the end of an assignment", [assign, { kind: "unassign" }], "open_unassigned"],
    ["a hold", [hold], "on_hold_unassigned"],
    ["a hold of an assigned case", [assign, hold], "on_hold"],
    ["a release", [assign, hold, { kind: "release" }], "open"],
    ["a settlement", [assign, { kind: "settle", reason: null }], "closed"],
    ["a withdrawal", [{ kind: "withdraw", reason: null }], "withdrawn_unassigned"],
  ])("is right after %s", async (_, triggers, group) => {
    for (const dpd of [null, 45]) {
      expect(await groupOf(await moved(await inserted({ dpd }), ...triggers))).toBe(group);
    }
  });

  test("is open again after a payment on a held case", async () => {
    expect(await groupOf(await paid(await moved(await inserted(), assign, hold), 1n))).toBe("open");
  });

  test("is null for a case of an earlier cycle", async () => {
    const earlier = await moved(await inserted({ dpd: null }), { kind: "withdraw", reason: null });
    const newer = exampleCase({ ...earlier, id: newId(), cycle: 2, status: "new", dpd: null });
    await transaction(database.em(), (tx) => insertCases(tx, [newer], [earlier], NOW));
    expect([await groupOf(earlier), await groupOf(newer)]).toEqual([null, "open_unassigned"]);
  });

  const setHolder = statement(
    "test.set-holder",
    "update cases.collection_case set assigned_field_partner_id = $3 where lender_id = $1 and id = $2",
  );
  const setDpd = statement(
    "test.set-dpd",
    "update cases.collection_case set dpd = 31 where lender_id = $1 and id = $2",
  );

  test("follows an assignment and a change of the band at once", async () => {
    const theCase = await inserted({ dpd: 29 });
    const { lenderId, id } = theCase;
    await Promise.all([
      query(database.em(), setHolder, [lenderId, id, newId()]),
      query(database.em(), setDpd, [lenderId, id]),
    ]);
    expect(await stateOf(theCase)).toMatchObject({ band: 2 });
    expect(await groupOf(theCase)).toBe("open");
  });
});

describe("the time of the last visit", () => {
  const selectVisited = statement(
    "test.visited-at",
    `select visited_at::text as at, extract(epoch from visited_at)::text as seconds
     from cases.search_state where lender_id = $1 and case_id = $2`,
  );
  const insertVisit = statement(
    "test.insert-visit",
    `insert into cases.visit (lender_id, id, case_id, field_partner_id, started_at, start_received_at)
     values ($1, $2, $3, $2, $4::timestamptz, $4::timestamptz)`,
  );
  const visitedAt = async ({ lenderId, id }: LockedCase) =>
    (await query<{ at: string | null }>(database.em(), selectVisited, [lenderId, id]))[0]?.at;
  const secondsOf = async ({ lenderId, id }: LockedCase) => {
    const [row] = await query<{ seconds: string }>(database.em(), selectVisited, [lenderId, id]);
    return Number(row!.seconds);
  };
  const visit = ({ lenderId, id }: LockedCase, at: Date) =>
    query(database.em(), insertVisit, [lenderId, newId(), id, at]);

  test.each([null, 45])("is -infinity before the first visit, with %s days past due", async (dpd) => {
    expect(await visitedAt(await inserted({ dpd }))).toBe("-infinity");
  });

  test("is the latest of several visits in any order", async () => {
    const theCase = await inserted({ dpd: null });
    for (const hour of [8, 10, 9]) await visit(theCase, new Date(Date.UTC(2026, 10, 20, hour)));
    expect(await secondsOf(theCase)).toBe(Date.UTC(2026, 10, 20, 10) / 1_000);
  });

  test("stays the latest when two visits of a case commit at once", async () => {
    const theCase = await inserted();
    const hours = [8, 9, 10, 11].map((hour) => new Date(Date.UTC(2026, 10, 20, hour)));
    await Promise.all(hours.map((at) => visit(theCase, at)));
    expect(await secondsOf(theCase)).toBe(Date.UTC(2026, 10, 20, 11) / 1_000);
  });

  test("is null for a case of an earlier cycle", async () => {
    const earlier = await moved(await inserted({ dpd: 45 }), { kind: "close", reason: null });
    const newer = exampleCase({ ...earlier, id: newId(), cycle: 2, status: "new", dpd: null });
    await transaction(database.em(), (tx) => insertCases(tx, [newer], [earlier], NOW));
    await visit(earlier, NOW);
    expect([await visitedAt(earlier), await visitedAt(newer)]).toEqual([null, "-infinity"]);
  });
});

test("a confirmation of an assigned case does not write its search state", async () => {
  const theCase = await moved(await inserted({ dpd: 45 }), assign);
  const before = await stateOf(theCase);
  expect(before).toMatchObject({ status: null, band: 2 });
  const collected = await paid(await paid(theCase, 1n), 499_999n);
  expect(collected.status).toBe("collected");
  expect(await stateOf(theCase)).toEqual(before);
});

describe("the migration of existing cases", () => {
  const insertAll = statement(
    "test.cases-before-search-states",
    `insert into cases.collection_case (lender_id, id, source_loan_number, cycle, is_current, status, field_work,
       blocked_at, work_begun, settled_by_lender, tags, currency, placed_minor, outstanding_minor, total_collected_minor,
       excess_minor, borrower_name, borrower_phone, alternate_phones, addresses, consent, metadata, sequence, created_at,
       updated_at, dpd, assigned_field_partner_id)
     select $1::uuid, gen_random_uuid(), 'LN-' || n, 1, n % 7 <> 0, ($2::text[])[n % 7 + 1], 'open', null, false, false,
       '{}', 'INR', 1, 0, 0, 0, 'Asha', '+919800000001', '{}', '[]', '{}', '{}', 1, now(), now(),
       case when n % 3 > 0 then n end, case when n % 2 > 0 then $1::uuid end
     from generate_series(1, 200) n`,
  );
  const visitAll = statement(
    "test.visits-before-visit-times",
    `insert into cases.visit (lender_id, id, case_id, field_partner_id, started_at, start_received_at)
     select c.lender_id, gen_random_uuid(), c.id, c.id, now(), now() - k * interval '1 hour'
     from cases.collection_case c, generate_series(1, 2) k where c.source_loan_number like '%3'`,
  );
  const selectFilled = statement(
    "test.filled-search-states",
    `select c.source_loan_number as loan, c.is_current as "isCurrent", c.status, c.dpd, s.status as "stateStatus",
       s.dpd_band as band, s.status_group as "group", c.assigned_field_partner_id is null as "isUnassigned",
       s.visited_at::text as "visitedAt",
       (select max(v.start_received_at)::text from cases.visit v where v.case_id = c.id) as "lastVisit"
     from cases.collection_case c left join cases.search_state s on s.lender_id = c.lender_id and s.case_id = c.id`,
  );
  const BEFORE = casesSchema.migrations.filter(({ name }) => name < "0018");
  const PREPARED = [...searchStatesMigration, ...visitTimesMigration, ...statusGroupsMigration];
  const INDEXED = new Set(["on_hold", "closed", "withdrawn"]);

  async function beforeMigration(): Promise<{ url: string; opened: Database }> {
    const url = directUrl((await emptyDatabase()).url);
    await migrate({ url, schemas: [{ ...casesSchema, migrations: BEFORE }] });
    const opened = await createDatabase({ url, schemas: [casesSchema] });
    afterAll(() => opened.close());
    await query(opened.em(), insertAll, [newId(), CASE_STATUSES]);
    await query(opened.em(), visitAll, []);
    return { url, opened };
  }

  test.each([
    ["by the migration alone", 0],
    ["before the migration too", PREPARED.length],
  ])("fills the table %s", async (_, prepared) => {
    const { url, opened } = await beforeMigration();
    for (const text of PREPARED.slice(0, prepared)) await opened.pool.query(text);
    await migrate({ url, schemas: [casesSchema] });
    type Row = {
      isCurrent: boolean;
      status: string;
      dpd: number | null;
      stateStatus: string | null;
      band: number | null;
      group: string | null;
      isUnassigned: boolean;
      visitedAt: string | null;
      lastVisit: string | null;
    };
    const rows = await query<Row>(opened.em(), selectFilled, []);
    const expected = rows.map((row) => ({
      ...row,
      stateStatus: row.isCurrent && INDEXED.has(row.status) ? row.status : null,
      band: row.isCurrent && row.dpd !== null ? Math.ceil(row.dpd / 30) : null,
      group: row.isCurrent
        ? `${INDEXED.has(row.status) ? row.status : "open"}${row.isUnassigned ? "_unassigned" : ""}`
        : null,
      visitedAt: row.isCurrent ? (row.lastVisit ?? "-infinity") : null,
    }));
    expect(rows).toHaveLength(200);
    expect(rows).toEqual(expected);
  });
});
