import { AMOUNT_FIELDS } from "@collections/cases";
import {
  type CommandCount,
  countOf,
  hotStatements,
  LOG_COMMANDS,
  type NodeCommand,
  recordCommands,
} from "@collections/citus";
import { migrate, transaction } from "@collections/database";
import { createDatabase, type Database } from "@collections/entities";
import { createFieldPartner } from "@collections/field-partners";
import { assignCase, type Confirmation, confirmPayments, importCases, onboardLender } from "@collections/flows";
import { createVault, type Lender } from "@collections/lenders";
import { AmountLiteral, parseJson } from "@collections/money";
import { parseAllowList } from "@collections/outbound";
import { testDatabase } from "@collections/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { jobsSchema, schemas } from "../../src/schemas.ts";
import { aRow } from "../fixtures/fixture.ts";

const ENVIRONMENT = "sandbox";

/**
 * The queries that the process sent for a batch, and the commands that the coordinator sent to worker nodes for them.
 */
interface Confirmed {
  /** The names of the queries. */
  readonly queries: readonly string[];
  readonly commands: number;
  readonly onWorkers: CommandCount;
}

describe("commands that a cluster's coordinator sends for a batch of confirmations", () => {
  let database: Database;
  let lender: Lender;
  const recorders: { take(): NodeCommand[] }[] = [];
  const sent: { readonly name: string | undefined; readonly text: string }[] = [];
  let phones = 10;

  beforeAll(async () => {
    const { url } = await testDatabase("service", async (at) => {
      await migrate({ url: at, schemas, jobsSchema, jobs: true });
    });
    database = await createDatabase({
      url,
      schemas,
      jobsSchema,
      onStatement: (statement) => void sent.push(statement),
    });
    database.pool.on("connect", (client) => {
      recorders.push(recordCommands(client));
      void client.query(LOG_COMMANDS);
    });
    const vault = createVault({ masterKey: "a".repeat(64) });
    const onboarding = { vault, allow: parseAllowList("127.0.0.1:*"), environment: ENVIRONMENT };
    const input = { code: "ACME", name: "Acme Finance", currency: "INR", commissionPercent: "2.5" };
    ({ lender } = await onboardLender(database.em(), onboarding, input));
  });

  afterAll(() => database.close());

  /** Imports these loans with 5,000 outstanding each, and assigns them to a field partner. */
  async function importLoans(loans: readonly string[]): Promise<void> {
    const fieldPartner = await transaction(database.em(), (tx) =>
      createFieldPartner(tx, { displayName: "Asha Rao", phone: `+9198000000${(phones += 1)}` }),
    );
    const { rows } = parseJson(JSON.stringify({ rows: loans.map((loan) => aRow(loan)) }), AMOUNT_FIELDS) as {
      rows: unknown[];
    };
    await importCases(database.em(), { lender, rows, dryRun: false, atomic: true }, ENVIRONMENT);
    for (const loan of loans) {
      const order = { lender, loan, reason: null, fieldPartnerId: fieldPartner.id };
      expect(await assignCase(database.em(), order, ENVIRONMENT)).toMatchObject({ kind: "done" });
    }
  }

  /** Confirms a payment of each loan; all payments are in one batch. */
  async function confirm(loans: readonly string[], reference: string): Promise<Confirmed> {
    sent.length = 0;
    recorders.forEach((recorder) => recorder.take());
    const batch = loans.map((loan) => payment(loan, reference));
    const outcomes = await confirmPayments(database.em(), batch, ENVIRONMENT);
    expect(outcomes.map(({ kind }) => kind)).toEqual(loans.map(() => "booked"));
    const commands = recorders.flatMap((recorder) => recorder.take());
    const onWorkers = countOf(commands.filter(({ node }) => node !== "coordinator"));
    const work = sent.filter(({ text }) => !/^(begin|commit|set )|pg_notify/i.test(text));
    return { queries: work.map(({ name, text }) => name ?? text), commands: countOf(commands).commands, onWorkers };
  }

  function payment(loan: string, reference: string): Confirmation {
    return {
      lender,
      loan,
      amount: new AmountLiteral("1000"),
      amountIsMajorUnits: false,
      reference,
      paidAt: new Date(),
      mode: "upi",
      rawMode: "upi",
      linkId: null,
      warnings: [],
      acceptedAt: new Date(),
    };
  }

  test("are one for each SQL query, go only to the lender's node, use no COPY, and commit in one phase", async () => {
    await importLoans(["LN-1"]);
    // Do not count the queries of this first batch: it also reads values that the process then caches.
    await confirm(["LN-1"], "pay_1");
    const { queries, commands, onWorkers } = await confirm(["LN-1"], "pay_2");
    expect(commands).toBe(queries.length);
    expect(onWorkers).toMatchObject({ nodes: 1, copies: 0, prepared: 0 });
  });

  test("come from SQL queries that pnpm citus:audit lists as hot", async () => {
    await importLoans(["LN-4"]);
    const { queries } = await confirm(["LN-4"], "pay_5");
    const hot = new Set(hotStatements.flatMap(({ names }) => names));
    expect(queries.filter((name) => !hot.has(name))).toEqual([]);
  });

  test("are as many for 32 confirmations of a lender as for one confirmation", async () => {
    const loans = Array.from({ length: 32 }, (_, index) => `LN-2-${index}`);
    await importLoans([...loans, "LN-3"]);
    const one = await confirm(["LN-3"], "pay_3");
    expect(await confirm(loans, "pay_4")).toEqual(one);
  });
});
