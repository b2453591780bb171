import { migrate, type PackageSchema } from "@collections/database";
import { emptyDatabase } from "@collections/testing";
import { Client } from "pg";
import { afterAll, describe, expect, test } from "vitest";
import { jobsSchema, schemas } from "../../src/schemas.ts";

/** The migrations that replaced CHECK constraints by functions. */
const RULES = new Set(["0013-case-rule", "0005-earning-rule", "0007-row-rules"]);

/** Later migrations that change a rule. */
const CHANGES = new Set(["0006-applied-excess"]);

const withConstraints = await migratedWithout(new Set([...RULES, ...CHANGES]));
const withRules = await migratedWithout(CHANGES);

const [LENDER, CASE, OTHER] = ["a", "c", "e"].map((digit) => `${digit.repeat(8)}-0000-7000-8000-${digit.repeat(12)}`);
const TIME = "2026-11-20T10:00:00Z";
const NUMBERS = [null, -1, 0, 1, 100, 101];
const IDS = [null, CASE, OTHER];
const TIMES = [null, TIME];

/** Rows that are allowed, and values for the columns of the table's rule: allowed values and others. */
interface Sample {
  readonly table: string;
  readonly rows: readonly Row[];
  readonly values: Readonly<Record<string, readonly unknown[]>>;
}
type Row = Readonly<Record<string, unknown>>;

const theCase = {
  lender_id: LENDER,
  id: CASE,
  source_loan_number: "LN",
  cycle: 1,
  is_current: true,
  status: "in_progress",
  field_work: "open",
  work_begun: true,
  settled_by_lender: false,
  tags: [],
  currency: "INR",
  placed_minor: 100,
  outstanding_minor: 100,
  total_collected_minor: 100,
  excess_minor: 0,
  borrower_name: "Ravi Kumar",
  borrower_phone: "+919800000001",
  alternate_phones: [],
  addresses: [],
  consent: {},
  metadata: {},
  sequence: 1,
  created_at: TIME,
  updated_at: TIME,
  total_reversed_minor: 0,
};

const booking = {
  lender_id: LENDER,
  id: OTHER,
  source_loan_number: "LN",
  reference: "UTR",
  case_id: CASE,
  cycle: 1,
  amount_minor: 100,
  currency: "INR",
  mode: "UPI",
  raw_mode: "UPI",
  paid_at: TIME,
  attribution: "none",
  applied_minor: 100,
  excess_minor: 0,
  outstanding_after_minor: 1,
  total_collected_after_minor: 100,
  status_after: "in_progress",
  sequence: 1,
  warnings: [],
  recorded_at: TIME,
};

const earning = {
  lender_id: LENDER,
  id: OTHER,
  case_id: CASE,
  booking_id: OTHER,
  source_loan_number: "LN",
  reference: "UTR",
  field_partner_id: OTHER,
  currency: "INR",
  base_minor: 100,
  percent: 1,
  amount_minor: 1,
  status: "pending",
  earned_at: TIME,
};

const ACCOUNTS = {
  receivable: `receivable/${CASE}`,
  excess: `excess/${CASE}`,
  ofAnotherCase: `receivable/${OTHER}`,
  placed: `placed/${LENDER}/INR`,
  settled: `settled_direct/${LENDER}/INR`,
  expense: `commission_expense/${LENDER}/INR`,
  pending: `pending/${OTHER}/INR`,
  credited: `credited/${OTHER}/INR`,
  creditedOfAnother: `credited/${CASE}/INR`,
  paid: `paid/${OTHER}/INR`,
  pendingDollars: `pending/${OTHER}/USD`,
};

function transfer(kind: string, debit: keyof typeof ACCOUNTS, credit: keyof typeof ACCOUNTS, others: Row = {}): Row {
  return {
    lender_id: LENDER,
    id: OTHER,
    debit_account: ACCOUNTS[debit],
    credit_account: ACCOUNTS[credit],
    amount_minor: 100,
    currency: "INR",
    kind,
    case_id: CASE,
    booking_id: OTHER,
    sequence: 1,
    memo: "memo",
    effective_at: TIME,
    recorded_at: TIME,
    ...others,
  };
}

const SAMPLES: readonly Sample[] = [
  {
    table: "cases.collection_case",
    rows: [theCase, { ...theCase, status: "collected", outstanding_minor: 0, close_reason: "paid_in_full" }],
    values: {
      status: ["new", "assigned", "in_progress", "on_hold", "collected", "closed", "withdrawn", "lost", ""],
      status_before_hold: [null, "new", "assigned", "in_progress", "on_hold"],
      field_work: ["open", "blocked", "closed"],
      blocked_at: TIMES,
      close_reason: [null, "paid_in_full", "settled_by_lender", "withdrawn", "closed_by_operator", "lost"],
      last_disposition: [null, "PAID_VIA_LINK", "OTHER", "UNSAFE", "HARDSHIP", "lost"],
      is_current: [true, false],
      cycle: [0, 1, 2],
      sequence: [-1, 0, 1],
      placed_minor: NUMBERS,
      outstanding_minor: NUMBERS,
      total_collected_minor: NUMBERS,
      excess_minor: NUMBERS,
      minimum_minor: NUMBERS,
      emi_minor: NUMBERS,
    },
  },
  {
    table: "ledger.payment_booking",
    rows: [
      booking,
      { ...booking, outstanding_after_minor: 0, status_after: "collected", attribution: "exact" },
      {
        ...booking,
        applied_minor: 1,
        amount_minor: 101,
        total_collected_after_minor: 101,
        excess_minor: 100,
        in_balance_minor: 1,
      },
    ],
    values: {
      reference: ["", "UTR"],
      cycle: [0, 1],
      currency: ["INR", "inr", "IN"],
      field_partner_id: IDS,
      attribution: ["exact", "inferred", "none", "lost"],
      amount_minor: NUMBERS,
      applied_minor: NUMBERS,
      excess_minor: NUMBERS,
      outstanding_after_minor: NUMBERS,
      total_collected_after_minor: NUMBERS,
      status_after: ["collected", "in_progress", "closed"],
      sequence: [0, 1],
      in_balance_minor: NUMBERS,
    },
  },
  {
    table: "earnings.earning",
    rows: [
      earning,
      { ...earning, status: "credited", credited_at: TIME },
      { ...earning, status: "paid_out", credited_at: TIME, paid_out_at: TIME, payout_id: OTHER },
      { ...earning, status: "reversed", reversed_at: TIME, reversed_by_id: OTHER },
      { ...earning, amount_minor: -1, base_minor: 0, base_before_minor: 100, reversal_id: OTHER },
    ],
    values: {
      currency: ["INR", "inr"],
      base_minor: NUMBERS,
      percent: [0, 1, 1_000_000, 1_000_001],
      amount_minor: NUMBERS,
      status: ["pending", "credited", "paid_out", "reversed", "lost"],
      credited_at: TIMES,
      paid_out_at: TIMES,
      payout_id: IDS,
      reversal_id: IDS,
      base_before_minor: NUMBERS,
      reversed_at: TIMES,
      reversed_by_id: IDS,
    },
  },
  {
    table: "ledger.transfer",
    rows: [
      transfer("placement", "receivable", "placed"),
      transfer("adjustment", "receivable", "placed"),
      transfer("adjustment", "placed", "receivable"),
      transfer("payment", "settled", "receivable"),
      transfer("excess", "settled", "excess"),
      transfer("commission", "expense", "pending"),
      transfer("earning_credited", "pending", "credited"),
      transfer("payout", "credited", "paid"),
      transfer("correction", "receivable", "settled", { corrects: OTHER }),
      transfer("correction", "paid", "pending", { corrects: OTHER, sequence: null }),
    ],
    values: {
      debit_account: ["", ...Object.values(ACCOUNTS)],
      credit_account: ["", ...Object.values(ACCOUNTS)],
      amount_minor: [-1, 0, 1],
      currency: ["INR", "USD", "inr"],
      kind: ["payment", "commission", "adjustment", "correction", "lost"],
      case_id: IDS,
      booking_id: IDS,
      corrects: IDS,
      sequence: [null, 0, 1],
      memo: ["", "memo"],
    },
  },
];

// A row of the samples with one or two changed values: whether it is allowed must not depend on the migration.
describe.each(SAMPLES)("the rule for rows of $table", ({ table, rows, values }) => {
  const changed = rows.flatMap((row) => changesOf(values).map((change) => ({ ...row, ...change })));

  test("allows exactly the rows that the replaced CHECK constraints allowed", async () => {
    const [before, after] = await Promise.all([
      allowed(withConstraints, table, changed),
      allowed(withRules, table, changed),
    ]);
    const differing = changed.filter((_, index) => before[index] !== after[index]);
    expect(differing).toEqual([]);
    expect(after.filter((verdict) => verdict === "allowed").length).toBeGreaterThan(50);
    expect(after.filter((verdict) => verdict === "refused").length).toBeGreaterThan(500);
  });

  test("allows the unchanged rows", async () => {
    expect(new Set(await allowed(withRules, table, rows))).toEqual(new Set(["allowed"]));
  });
});

/** Returns a client of a database with all migrations except those with these names. */
async function migratedWithout(names: ReadonlySet<string>): Promise<Client> {
  const { url } = await emptyDatabase();
  const packages = schemas.map((schema): PackageSchema => {
    return { ...schema, migrations: schema.migrations.filter(({ name }) => !names.has(name)) };
  });
  await migrate({ url, schemas: packages, jobsSchema, jobs: true });
  const client = new Client({ connectionString: url });
  await client.connect();
  afterAll(() => client.end());
  return client;
}

/** Returns every change of one or two columns. */
function changesOf(values: Sample["values"]): Row[] {
  const single = Object.entries(values).flatMap(([column, each]) => each.map((value) => [column, value] as const));
  return single.flatMap(([column, value], index) => [
    { [column]: value },
    ...single
      .slice(index + 1)
      .flatMap(([other, second]) => (other === column ? [] : [{ [column]: value, [other]: second }])),
  ]);
}

/**
 * Inserts each row, and takes the insert back. The answer is `refused` for a violated CHECK constraint, `allowed` for a
 * stored row or for a missing foreign key, which PostgreSQL checks later, and `null` for NULL in a NOT NULL column.
 */
async function allowed(client: Client, table: string, rows: readonly Row[]): Promise<string[]> {
  await client.query(`create or replace function pg_temp.verdicts(given jsonb) returns text[] language plpgsql as $$
    declare
      one jsonb;
      verdict text;
      found text[] := '{}';
    begin
      for one in select value from jsonb_array_elements(given) loop
        begin
          insert into ${table} select * from jsonb_populate_record(null::${table}, one);
          raise exception using errcode = 'P0001';
        exception
          when raise_exception or foreign_key_violation then verdict := 'allowed';
          when check_violation then verdict := 'refused';
          when not_null_violation then verdict := 'null';
        end;
        found := found || verdict;
      end loop;
      return found;
    end $$`);
  const verdicts: string[] = [];
  for (let first = 0; first < rows.length; first += 1_000) {
    const part = JSON.stringify(rows.slice(first, first + 1_000));
    const { rows: answers } = await client.query<{ found: string[] }>("select pg_temp.verdicts($1) as found", [part]);
    verdicts.push(...answers[0]!.found);
  }
  return verdicts;
}
