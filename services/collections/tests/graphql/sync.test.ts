import { randomUUID } from "node:crypto";
import { assignCase, closeCase, holdCase, releaseCase, unassignCase } from "@collections/flows";
import { lenderByCode } from "@collections/lenders";
import { beforeAll, describe, expect, test } from "vitest";
import { aFieldPartner, aLender, aRow, assign, startTestService, type TestService } from "../fixtures/fixture.ts";
import { AppClient } from "../fixtures/graphql-client.ts";
import { seededRandom, seedOfRun } from "../fixtures/seeded-random.ts";
import { SyncedPhone } from "./fixtures/synced-phone.ts";

const SEED = seedOfRun();

let service: TestService;
let lender: Awaited<ReturnType<typeof aLender>>;
let owner: { id: string; code: string };

beforeAll(async () => {
  service = await startTestService({ hasWorker: false });
  lender = await aLender(service);
  owner = (await lenderByCode(service.app.database.em(), lender.code))!;
});

describe("the first sync", () => {
  test("returns all cases in pages, each case once, and sets isFull on every page", async () => {
    const { phone } = await aPhone(7);
    expect(await phone.sync({ first: 3 })).toMatchObject([
      { isFull: true, hasMore: true, cases: { length: 3 } },
      { isFull: true, hasMore: true, cases: { length: 3 } },
      { isFull: true, hasMore: false, cases: { length: 1 }, goneCaseIds: [] },
    ]);
    expect(phone.caseIds()).toEqual(await phone.listedIds());
    expect(phone.caseIds()).toHaveLength(7);
  });

  test("returns one empty page to a field partner without cases", async () => {
    const { phone } = await aPhone(0);
    expect(await phone.sync()).toMatchObject([{ isFull: true, hasMore: false, cases: [], paymentLinks: [] }]);
  });

  test("returns the field partner's own links and earnings of the last 30 days", async () => {
    const [mine, theirs] = [await aPhone(1), await aPhone(1)];
    for (const { phone, loans } of [mine, theirs]) await workAndPay(phone, loans[0]!);
    const [page] = await mine.phone.sync();
    expect(page).toMatchObject({ paymentLinks: [{ status: "REQUESTED" }], earningLines: [{ status: "PENDING" }] });
    await age(mine.fieldPartnerId, "31 days");
    expect(await new SyncedPhone(mine.phone.app).sync()).toMatchObject([
      { cases: { length: 1 }, paymentLinks: [], earningLines: [] },
    ]);
  });
});

describe("a later sync", () => {
  test("returns what has changed, and nothing else", async () => {
    const { phone, fieldPartnerId, loans } = await aPhone(5);
    await phone.sync();
    await age(fieldPartnerId, "1 hour");
    expect(await phone.sync()).toMatchObject([{ isFull: false, hasMore: false, cases: [], goneCaseIds: [] }]);

    const [visited, paid, held] = loans as [string, string, string];
    await workAndPay(phone, paid);
    await startVisit(phone, visited);
    await holdCase(service.app.database.em(), { lender: owner, loan: held, reason: "complaint" }, "test");
    const [page] = await phone.sync();
    expect(page!.cases.map(({ loanTail }) => loanTail).toSorted()).toEqual(
      [visited, paid, held].map((loan) => loan.slice(-4)).toSorted(),
    );
    expect(page).toMatchObject({ paymentLinks: [{ status: "REQUESTED" }], earningLines: [{ status: "PENDING" }] });
  });

  test("returns rows of the last 15 minutes again, because a row can become visible later than its timestamp", async () => {
    const { phone, fieldPartnerId } = await aPhone(2);
    await phone.sync();
    await age(fieldPartnerId, "14 minutes");
    expect(await phone.sync()).toMatchObject([{ cases: { length: 2 } }]);
    await age(fieldPartnerId, "2 minutes");
    expect(await phone.sync()).toMatchObject([{ cases: [] }]);
  });

  test("returns a change that was written before the last sync and committed after it", async () => {
    const { phone, fieldPartnerId } = await aPhone(2);
    await phone.sync();
    await age(fieldPartnerId, "1 hour");
    const slow = await service.app.database.pool.connect();
    try {
      await slow.query("begin");
      await slow.query(
        `update cases.collection_case set outstanding_minor = 1, updated_at = now()
         where id = (select id from cases.collection_case where assigned_field_partner_id = $1 limit 1)`,
        [fieldPartnerId],
      );
      expect(await phone.sync()).toMatchObject([{ cases: [] }]);
      await slow.query("commit");
    } finally {
      slow.release(true);
    }
    expect(await phone.sync()).toMatchObject([{ cases: { length: 1 } }]);
    expect(phone.cases()).toEqual(await phone.listed());
  });

  test("returns a link whose delivery has changed, and an earning that was credited", async () => {
    const { phone, fieldPartnerId, loans } = await aPhone(1);
    await workAndPay(phone, loans[0]!);
    await phone.sync();
    await age(fieldPartnerId, "1 hour");
    await service.app.database.pool.query(
      `insert into payment_links.link_delivery (lender_id, id, payment_link_id, channel, status, created_at, updated_at)
       select lender_id, gen_random_uuid(), id, 'whatsapp', 'read', now(), now()
       from payment_links.payment_link where field_partner_id = $1`,
      [fieldPartnerId],
    );
    expect(await phone.sync()).toMatchObject([{ cases: [], paymentLinks: { length: 1 }, earningLines: [] }]);
    await age(fieldPartnerId, "1 hour");
    await closeCase(service.app.database.em(), { lender: owner, loan: loans[0]!, reason: "settled" }, "test");
    expect(await phone.sync()).toMatchObject([
      { cases: [{ status: "CLOSED" }], paymentLinks: [], earningLines: [{ status: "CREDITED" }] },
    ]);
  });

  test("returns a case that changed only because time passed: its details became hidden, or its doNotContactUntil was reached", async () => {
    const { phone, fieldPartnerId, loans } = await aPhone(3);
    const tomorrow = new Date(Date.now() + 86_400_000).toISOString().slice(0, 10);
    await lender.importCases([aRow(loans[1]!, { doNotContactUntil: tomorrow })]);
    await closeCase(service.app.database.em(), { lender: owner, loan: loans[0]!, reason: "settled" }, "test");
    await phone.sync();
    await age(fieldPartnerId, "7 days");
    const [page] = await phone.sync();
    expect(page!.cases.map(({ loanTail, isShrunk }) => isShrunk || loanTail).toSorted(bySpelling)).toEqual([
      loans[1]!.slice(-4),
      true,
    ]);
  });

  test("lists the cases that the field partner has lost in any way, except those that the same field partner got back", async () => {
    const { phone, fieldPartnerId, loans } = await aPhone(5);
    const [unassigned, reassigned, renewed, cameBack] = loans as [string, string, string, string];
    await phone.sync();
    const lost = await Promise.all([unassigned, reassigned, renewed].map((loan) => phone.idOf(loan)));
    const em = service.app.database.em();
    await unassignCase(em, { lender: owner, loan: unassigned, reason: null }, "test");
    const another = await aPhone(0);
    await assign(service, lender.code, reassigned, another.fieldPartnerId);
    await closeCase(em, { lender: owner, loan: renewed, reason: "settled" }, "test");
    await lender.importCases([aRow(renewed)]);
    await unassignCase(em, { lender: owner, loan: cameBack, reason: null }, "test");
    await assign(service, lender.code, cameBack, fieldPartnerId);
    const pages = await phone.sync({ first: 1 });
    expect(pages.flatMap(({ goneCaseIds }) => goneCaseIds).toSorted()).toEqual(lost.toSorted());
    expect(phone.caseIds()).toEqual(await phone.listedIds());
    expect(await another.phone.sync()).toMatchObject([{ cases: { length: 1 }, goneCaseIds: [] }]);
  });

  test("is full when the previous sync is more than 30 days old", async () => {
    const { phone } = await aPhone(1);
    const settled = (daysAgo: number) => cursor(`${Date.now() - daysAgo * 86_400_000}`);
    expect(await phone.page({ since: settled(29) })).toMatchObject({ isFull: false, cases: { length: 1 } });
    expect(await phone.page({ since: settled(31) })).toMatchObject({ isFull: true, cases: { length: 1 } });
  });

  test("rejects an invalid cursor, and a cursor from the middle of an outdated sync", async () => {
    const { phone } = await aPhone(0);
    const old = `${Date.now() - 31 * 86_400_000}/all/^/$/^/^`;
    for (const since of ["", "x", cursor("1"), cursor(old), cursor(`${Date.now()}/all/^/$/^/'`)]) {
      await expect(phone.page({ since })).rejects.toThrow(/start again without.*BAD_INPUT/);
    }
    await expect(phone.page({ first: 101 })).rejects.toThrow(/BAD_INPUT/);
  });
});

test(`a phone's copy equals the current cases after a sync, whatever changes between pages (SEED=${SEED})`, async () => {
  const { phone, fieldPartnerId, loans } = await aPhone(12);
  const other = (await aPhone(0)).fieldPartnerId;
  const draw = seededRandom(SEED);
  for (let round = 0; round < 6; round += 1) {
    const pages = phone.pages({ first: 2 });
    for await (const _ of pages) await change(loans[Math.floor(draw() * loans.length)]!);
  }
  await phone.sync({ first: 5 });
  const shown = await phone.listed();
  expect(phone.cases()).toEqual(shown);

  async function change(loan: string): Promise<void> {
    const em = service.app.database.em();
    const order = { lender: owner, loan, reason: null };
    const kind = Math.floor(draw() * 5);
    if (kind === 0) await assignCase(em, { ...order, fieldPartnerId }, "test");
    if (kind === 1) await assignCase(em, { ...order, fieldPartnerId: other }, "test");
    if (kind === 2) await holdCase(em, order, "test");
    if (kind === 3) await releaseCase(em, order, "test");
    if (kind === 4) await confirm(loan, 1);
  }
});

let loansMade = 0;

/** Creates a field partner with `cases` cases, and their phone. */
async function aPhone(cases: number): Promise<{ phone: SyncedPhone; fieldPartnerId: string; loans: string[] }> {
  const { id, accessToken } = await aFieldPartner(service);
  const loans = Array.from({ length: cases }, () => `LN-${10_000 + (loansMade += 1)}`);
  if (cases > 0) await lender.importCases(loans.map((loan) => aRow(loan)));
  for (const loan of loans) await assign(service, lender.code, loan, id);
  return { phone: new SyncedPhone(new AppClient(service.url, accessToken)), fieldPartnerId: id, loans };
}

async function startVisit(phone: SyncedPhone, loan: string): Promise<string> {
  const visitId = randomUUID();
  const input = { visitId, caseId: await phone.idOf(loan), occurredAt: new Date().toISOString() };
  await phone.app.mutate("startVisit", input, "visit { visitId }");
  return visitId;
}

async function workAndPay(phone: SyncedPhone, loan: string): Promise<void> {
  const visitId = await startVisit(phone, loan);
  await phone.app.mutate(
    "requestPaymentLink",
    { visitId, amount: { minor: "10000", currency: "INR" } },
    "paymentLink { id }",
  );
  await confirm(loan, 100);
}

async function confirm(loan: string, amount: number): Promise<void> {
  const paidAt = new Date().toISOString();
  await lender.confirm(loan, { amount, reference: randomUUID(), paidAt, mode: "upi", linkId: "none" });
}

/** Makes a field partner's cases, links and earnings older: subtracts this interval from all of their timestamps. */
async function age(fieldPartnerId: string, by: string): Promise<void> {
  const columns = {
    "cases.collection_case": ["updated_at", "closed_at"],
    "payment_links.payment_link": ["updated_at"],
    "earnings.earning": ["earned_at", "credited_at"],
  };
  for (const [table, names] of Object.entries(columns)) {
    const owned = table.startsWith("cases") ? "assigned_field_partner_id" : "field_partner_id";
    const set = names.map((name) => `${name} = ${earlier(name)}`).join(", ");
    await service.app.database.pool.query(`update ${table} set ${set} where ${owned} = $1`, [fieldPartnerId, by]);
  }
  await service.app.database.pool.query(
    `update payment_links.link_delivery d set updated_at = ${earlier("d.updated_at")}
     from payment_links.payment_link l
     where l.lender_id = d.lender_id and l.id = d.payment_link_id and l.field_partner_id = $1`,
    [fieldPartnerId, by],
  );
}

/**
 * Returns an SQL expression: the column minus $2. It computes in UTC, because Citus rejects expressions that depend on
 * the session's time zone.
 */
function earlier(column: string): string {
  return `(${column} at time zone 'utc' - $2::interval) at time zone 'utc'`;
}

function bySpelling(a: unknown, b: unknown): number {
  return String(a) < String(b) ? -1 : 1;
}

function cursor(text: string): string {
  return Buffer.from(text).toString("base64url");
}
