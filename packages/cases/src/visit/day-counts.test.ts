import { newId, transaction } from "@collections/database";
import { expect, test } from "vitest";
import { dayCounts, insertCases } from "../index.ts";
import { casesDatabase } from "../../tests/cases-database.ts";
import { exampleCase } from "../../tests/example-case.ts";

const database = await casesDatabase();
const NOW = new Date("2026-11-20T09:00:00Z");
const DAY = { day: "2026-11-20", from: new Date("2026-11-20T00:00:00Z"), to: new Date("2026-11-21T00:00:00Z") };

async function unassignedOf(lenderId: string) {
  return (await dayCounts(database.em(), lenderId, [DAY])).unassigned;
}

test("counts open current cases of one lender without a field partner", async () => {
  const lenderId = newId();
  const cases = [
    exampleCase({ lenderId }),
    exampleCase({ lenderId, status: "on_hold", statusBeforeHold: "new" }),
    exampleCase({ lenderId, status: "assigned", assignedFieldPartnerId: newId() }),
    exampleCase({ lenderId, status: "withdrawn", closedAt: NOW, closeReason: "withdrawn" }),
    exampleCase({ lenderId, isCurrent: false }),
    exampleCase(),
  ];
  for (const one of cases) await transaction(database.em(), (tx) => insertCases(tx, [one], [], NOW));
  expect(await unassignedOf(lenderId)).toEqual({ count: 2, isComplete: true });
});

test("reads the newest 20,000 unassigned cases, and reports more", async () => {
  const lenderId = newId();
  const add = (count: number) =>
    database.pool.query(
      `insert into cases.collection_case (lender_id, id, source_loan_number, cycle, is_current, status, field_work,
         work_begun, settled_by_lender, tags, currency, placed_minor, outstanding_minor, total_collected_minor,
         excess_minor, borrower_name, borrower_phone, alternate_phones, addresses, consent, metadata, sequence,
         created_at, updated_at)
       select $1, gen_random_uuid(), 'LN-' || gen_random_uuid(), 1, true, 'new', 'open', false, false, '{}', 'INR', 1, 1,
         0, 0, 'Asha Rao', '+919800000001', '{}', '[]', '{}', '{}', 1, now(), now()
       from generate_series(1, $2::integer)`,
      [lenderId, count],
    );
  await add(19_999);
  expect(await unassignedOf(lenderId)).toEqual({ count: 19_999, isComplete: true });
  await add(2);
  expect(await unassignedOf(lenderId)).toEqual({ count: 20_000, isComplete: false });
});

const MINUTE_MS = 60_000;
const HOURS = 60;
/** Minutes after the begin of DAY, before, at and after the bounds of two days. */
const STARTS = [-25, -1, -1 / 60, 0, 1 / 60, 12, 23, 23.5, 24 - 1 / 60, 24, 25, 47.5, 48].map((hours) => hours * HOURS);
/** Minutes from the start of a visit to its end. Null if the visit has not ended. */
const DURATIONS = [null, -26 * HOURS, -61, -1, 0, 1, 59, 60, 61, 23 * HOURS, 25 * HOURS, 49 * HOURS];
const DISPOSITIONS = ["NOT_AT_HOME", "OTHER", "PROMISE_TO_PAY"] as const;

test("counts a visit on the days of its start and end", async () => {
  const lenderId = newId();
  const visitedCase = exampleCase({ lenderId });
  await transaction(database.em(), (tx) => insertCases(tx, [visitedCase], [], NOW));
  const partners = Array.from({ length: 7 }, () => newId());
  const at = (minutes: number) => new Date(DAY.from.getTime() + minutes * MINUTE_MS);
  const visits = STARTS.flatMap((start) => DURATIONS.map((duration) => ({ start, duration }))).map(
    ({ start, duration }, place) => ({
      partner: partners[place % partners.length]!,
      started: at(start),
      ended: duration === null ? null : at(start + duration),
      disposition: duration === null ? null : DISPOSITIONS[place % DISPOSITIONS.length]!,
    }),
  );
  for (const { partner, started, ended, disposition } of visits) {
    await database.pool.query(
      `insert into cases.visit (lender_id, id, case_id, field_partner_id, started_at, start_received_at, completed_at,
         completion_received_at, disposition)
       values ($1, $2, $3, $4, $5, $5, $6, $6, $7)`,
      [lenderId, newId(), visitedCase.id, partner, started, ended, disposition],
    );
  }
  const days = [DAY, { day: "2026-11-21", from: DAY.to, to: at(48 * HOURS) }];
  const expected = days.map(({ from, to }) => {
    const isIn = (time: Date | null) => time !== null && time >= from && time < to;
    const started = visits.filter((visit) => isIn(visit.started));
    const ended = visits.filter((visit) => isIn(visit.ended));
    return {
      startedVisits: started.length,
      visits: DISPOSITIONS.map((disposition) => ({
        disposition,
        visits: ended.filter((visit) => visit.disposition === disposition).length,
      })),
      promises: { due: 0, kept: 0, broken: 0 },
      activeFieldPartners: new Set([...started, ...ended].map(({ partner }) => partner)).size,
    };
  });
  const counted = await dayCounts(database.em(), lenderId, days);
  expect(counted.days).toEqual(expected);
  expect((await dayCounts(database.em(), lenderId, days.slice(0, 1))).days).toEqual(expected.slice(0, 1));
});
