import { CollectionsClient } from "@collections/lender-sdk";
import type { Answer } from "@collections/lender-twin";
import { firstIdAt, newId } from "@collections/database";
import { listCases } from "@collections/flows";
import { lenderByCode } from "@collections/lenders";
import { directUrl } from "@collections/testing";
import { Client } from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { aLender, aRow, startTestService, type TestService } from "../fixtures/fixture.ts";

type Lender = Awaited<ReturnType<typeof aLender>> & { readonly id: string };
type Item = Record<string, unknown> & { sourceLoanNumber: string; caseId: string; reference: string };

const PARTNER = "/api/v1/partner";
const HOUR_MS = 3_600_000;
const MANY = 100_000;

let service: TestService;
let session: Client;

beforeAll(async () => {
  service = await startTestService({ hasWorker: false });
  session = new Client({ connectionString: directUrl(service.databaseUrl) });
  await session.connect();
});
afterAll(() => session.end());

test(`walking ${MANY} cases during an import misses no case and repeats none`, async () => {
  const lender = await newLender();
  await addCases(lender, { count: MANY, prefix: "OLD", at: new Date(Date.now() - HOUR_MS) });
  let [imported, isOver] = [0, false];
  // Import fewer cases than one page holds. So the test, which reads page after page, need not wait for new cases on
  // the last page.
  async function importMore(): Promise<void> {
    for (; !isOver && imported < 400; imported += 10) {
      const rows = Array.from({ length: 10 }, (_, index) => aRow(`NEW-${imported + index}`));
      expect((await lender.importCases(rows)).status).toBe(200);
    }
  }
  const importing = importMore();
  const em = service.app.database.em();
  const found: Item[] = [];
  let next: string | null = null;
  do {
    if (found.length > MANY - 1_000) {
      isOver = true;
      await importing;
    }
    const page: Awaited<ReturnType<typeof listCases>> = await listCases(em, lender.id, {}, next);
    found.push(...(page.items as Item[]));
    ({ next } = page);
  } while (next !== null);
  expect(imported).toBeGreaterThan(0);
  expect(found).toHaveLength(MANY + imported);
  expect(new Set(found.map(nameOf)).size).toBe(found.length);
});

test("a page ends before the items that an open transaction may still commit, and the next page has them", async () => {
  const lender = await newLender();
  const anHourAgo = new Date(Date.now() - HOUR_MS);
  for (const add of [addCases, addPayments]) await add(lender, { count: 700, prefix: "OLD", at: anHourAgo });
  // The open transaction makes the ids of its items now. It commits after other items, which have higher ids.
  await session.query("begin");
  await session.query("select from cases.collection_case limit 1 for no key update");
  for (const add of [addCases, addPayments]) await add(lender, { count: 1, prefix: "HELD", client: session });
  for (const add of [addCases, addPayments]) await add(lender, { count: 700, prefix: "NEW" });

  const walks = [pagesOf(lender, "cases"), pagesOf(lender, "payments")];
  for (const pages of walks) {
    expect((await pages.next()).value!.items).toHaveLength(500);
    const second = (await pages.next()).value!;
    expect(second.items.map(nameOf)).toEqual(Array.from({ length: 200 }, (_, index) => `OLD-${index + 501}`));
    // Nothing more can be read, so the cursor stays the same.
    const third = (await pages.next()).value!;
    expect(third).toEqual({ items: [], nextCursor: second.nextCursor });
    expect((await pages.next()).value).toEqual(third);
  }
  await session.query("commit");
  const later = ["HELD-1", ...Array.from({ length: 700 }, (_, index) => `NEW-${index + 1}`)];
  for (const pages of walks) {
    const rest: Item[] = [];
    for await (const { items } of pages) rest.push(...items);
    expect(rest.map(nameOf)).toEqual(later);
  }
});

test.each(["cases", "payments"] as const)(
  "the only page of %s shows what was added a moment ago, even while a transaction is open",
  async (list) => {
    const lender = await newLender();
    await session.query("begin");
    await session.query("select from cases.collection_case limit 1 for no key update");
    await lender.importCases([aRow("LN-1")]);
    await lender.confirm("LN-1", { amount: 10, reference: "UTR1", paidAt: new Date().toISOString(), mode: "upi" });
    const { body } = await lender.call("GET", `${PARTNER}/${list}`);
    await session.query("rollback");
    expect(body[list]).toHaveLength(1);
    expect(body["nextCursor"]).toBeNull();
  },
);

test("a case that changes during a walk through GET cases with updatedSince is listed once, and again in the next walk", async () => {
  const lender = await newLender();
  await addCases(lender, { count: 1_200, prefix: "OLD", at: new Date(Date.now() - HOUR_MS) });
  const since = `updatedSince=${new Date(Date.now() - 2 * HOUR_MS).toISOString()}`;
  const pages = pagesOf(lender, "cases", since);
  const first = (await pages.next()).value!;
  // The case OLD-1 was listed before it changes. The case OLD-900 is listed after it has changed.
  const changedAt = new Date();
  for (const loan of ["OLD-1", "OLD-900"]) {
    await lender.importCases([aRow(loan, { outstandingAmount: 1 })]);
  }
  const items = [...first.items];
  for await (const page of pages) items.push(...page.items);
  expect(items.map(nameOf)).toEqual(Array.from({ length: 1_200 }, (_, index) => `OLD-${index + 1}`));
  expect(items[0]).toMatchObject({ outstandingAfter: 10 });
  expect(items[899]).toMatchObject({ outstandingAfter: 1 });
  const next: Item[] = [];
  for await (const page of pagesOf(lender, "cases", `updatedSince=${changedAt.toISOString()}`))
    next.push(...page.items);
  expect(next.map(nameOf)).toEqual(["OLD-1", "OLD-900"]);
});

test("a filter that few rows match returns pages with a cursor until all rows are searched", async () => {
  const lender = await newLender();
  await addCases(lender, { count: 45_000, prefix: "OLD", at: new Date(Date.now() - HOUR_MS) });
  await service.app.database.pool.query(
    `update cases.collection_case set status = 'withdrawn', closed_at = now()
     where lender_id = $1 and source_loan_number in ('OLD-1', 'OLD-44999')`,
    [lender.id],
  );
  const sizes: number[] = [];
  const loans: string[] = [];
  for await (const { items } of pagesOf(lender, "cases", "status=withdrawn")) {
    sizes.push(items.length);
    loans.push(...items.map(nameOf));
  }
  expect(sizes).toEqual([1, 0, 1]);
  expect(loans).toEqual(["OLD-1", "OLD-44999"]);
});

test("a reference that many loans have is listed page by page, also by the SDK", async () => {
  const lender = await newLender();
  await addPayments(lender, { count: 1_100, prefix: "EMI", at: new Date(Date.now() - HOUR_MS), reference: "EMI-1" });
  await addPayments(lender, { count: 300, prefix: "UTR", at: new Date(Date.now() - HOUR_MS / 2) });
  const loans: string[] = [];
  for await (const { items } of pagesOf(lender, "payments", "reference=EMI-1")) {
    expect(items.every(({ reference }) => reference === "EMI-1")).toBe(true);
    loans.push(...items.map(({ sourceLoanNumber }) => sourceLoanNumber));
  }
  expect(new Set(loans).size).toBe(1_100);
  expect(loans).toHaveLength(1_100);

  const [apiKeyId, hmacSecret] = [...lender.secrets][0]!;
  const client = new CollectionsClient({ baseUrl: service.url, apiKeyId, hmacSecret });
  const found = await Array.fromAsync(client.payments({ reference: "EMI-1" }));
  expect(found.map(({ sourceLoanNumber }) => sourceLoanNumber)).toEqual(loans);
});

test("a cursor is refused with other parameters, in the other list and for another lender", async () => {
  const [lender, other] = [await newLender(), await newLender()];
  for (const one of [lender, other]) {
    await addCases(one, { count: 600, prefix: "OLD", at: new Date(Date.now() - HOUR_MS) });
    await addPayments(one, { count: 600, prefix: "UTR", at: new Date(Date.now() - HOUR_MS) });
  }
  const from = "from=2026-01-01T00:00:00Z";
  const cursorOf = async (one: Lender, list: string, query = "") =>
    String((await one.call("GET", `${PARTNER}/${list}?${query}`)).body["nextCursor"]);
  const ofPayments = await cursorOf(lender, "payments", from);
  const ofCases = await cursorOf(lender, "cases", "status=new");

  const read = (one: Lender, list: string, query: string) => one.call("GET", `${PARTNER}/${list}?${query}`);
  const accepted = [
    read(lender, "payments", `${from}&cursor=${ofPayments}`),
    // The same moment in another form is the same filter.
    read(lender, "payments", `cursor=${ofPayments}&from=2026-01-01T05:30:00%2B05:30`),
    read(lender, "cases", `status=new&cursor=${ofCases}`),
  ];
  for (const { status, rawBody } of await Promise.all(accepted)) expect(status, rawBody).toBe(200);
  const refused = [
    read(lender, "payments", `cursor=${ofPayments}`),
    read(lender, "payments", `${from}&loan=UTR-1&cursor=${ofPayments}`),
    read(lender, "payments", `from=2026-01-02T00:00:00Z&cursor=${ofPayments}`),
    read(other, "payments", `${from}&cursor=${ofPayments}`),
    read(lender, "cases", `status=new&cursor=${ofPayments}`),
    read(lender, "cases", `status=new,closed&cursor=${ofCases}`),
    read(lender, "cases", `cursor=${ofCases}`),
    read(other, "cases", `status=new&cursor=${ofCases}`),
  ];
  for (const { status, body } of await Promise.all(refused)) {
    expect(status).toBe(422);
    expect(body).toMatchObject({ code: "INVALID_ENUM" });
    expect(body["detail"]).toMatch(/cursor belongs to another list; repeat the parameters of the first page/);
  }
});

interface ListPage {
  readonly items: readonly Item[];
  readonly nextCursor: string | null;
}

/** Yields the pages of a list. Waits a moment if a page makes no progress, as the contract says. */
async function* pagesOf(lender: Lender, list: "cases" | "payments", filter = ""): AsyncGenerator<ListPage, undefined> {
  let cursor: string | null = null;
  do {
    const query: string = [filter, ...(cursor === null ? [] : [`cursor=${cursor}`])].filter(Boolean).join("&");
    const { status, body, rawBody }: Answer = await lender.call("GET", `${PARTNER}/${list}?${query}`);
    expect(status, rawBody).toBe(200);
    const nextCursor = body["nextCursor"] as string | null;
    const items = body[list] as Item[];
    expect(items.length).toBeLessThanOrEqual(500);
    yield { items, nextCursor };
    if (nextCursor === cursor) await new Promise((resolve) => setTimeout(resolve, 500));
    cursor = nextCursor;
  } while (cursor !== null);
}

function nameOf({ sourceLoanNumber }: Item): string {
  return sourceLoanNumber;
}

async function newLender(): Promise<Lender> {
  const twin = await aLender(service);
  const { id } = (await lenderByCode(service.app.database.em(), twin.code))!;
  return Object.assign(twin, { id });
}

interface Added {
  readonly count: number;
  readonly prefix: string;
  /** The time in the ids of the rows to add; by default now. */
  readonly at?: Date;
  readonly client?: Pick<Client, "query">;
  readonly reference?: string;
}

/** SQL expression for the id of row `n`: a UUIDv7 of the time in the second parameter. */
const ID = "overlay(overlay($2::text placing lpad(to_hex(n), 8, '0') from 29) placing '7' from 15)::uuid";

/** A slow machine inserts as many cases within the time limit of a statement. */
const MOST_AT_ONCE = 10_000;

async function addCases(
  lender: Lender,
  { count, prefix, at, client = service.app.database.pool }: Added,
): Promise<void> {
  const [ids, createdAt] = [idsFrom(at), at ?? new Date()];
  for (let first = 1; first <= count; first += MOST_AT_ONCE) {
    await client.query(
      `insert into cases.collection_case (lender_id, id, source_loan_number, cycle, is_current, status, field_work,
       work_begun, settled_by_lender, tags, currency, placed_minor, outstanding_minor, total_collected_minor,
       excess_minor, borrower_name, borrower_phone, alternate_phones, addresses, consent, metadata, sequence,
       created_at, updated_at)
     select $1, ${ID}, $3 || '-' || n, 1, true, 'new', 'open', false, false, '{}', 'INR', 1000, 1000, 0, 0, 'Ravi Kumar',
       '+919800000001', '{}', '[]', '{}', '{}', 1, $5::timestamptz, $5::timestamptz
     from generate_series($6::integer, $4::integer) n`,
      [lender.id, ids, prefix, Math.min(count, first + MOST_AT_ONCE - 1), createdAt, first],
    );
  }
}

async function addPayments(
  lender: Lender,
  { count, prefix, at, client = service.app.database.pool, reference }: Added,
): Promise<void> {
  await client.query(
    `insert into ledger.payment_booking (lender_id, id, source_loan_number, reference, case_id, cycle, amount_minor,
       currency, mode, raw_mode, paid_at, attribution, applied_minor, excess_minor, outstanding_after_minor,
       total_collected_after_minor, status_after, sequence, warnings, recorded_at)
     select $1, ${ID}, $3 || '-' || n, coalesce($6, 'UTR' || n), $1, 1, 100, 'INR', 'upi', 'upi', $5::timestamptz,
       'none', 100, 0, 10, 100, 'in_progress', 1, '[]', $5::timestamptz
     from generate_series(1, $4::integer) n`,
    [lender.id, idsFrom(at), prefix, count, at ?? new Date(), reference ?? null],
  );
}

/**
 * Returns an id of this time, or a new id if no time is given. The ids of the rows to add are made from it: its last 8
 * digits are replaced by the number of the row.
 */
function idsFrom(at: Date | undefined): string {
  return at ? firstIdAt(at) : newId();
}
