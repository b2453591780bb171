import { beforeAll, describe, expect, test } from "vitest";
import { aLender, aRow, startTestService, type TestService } from "../fixtures/fixture.ts";

interface RowResult {
  outcome: string;
}

const PATH = "/api/v1/partner/cases";

let service: TestService;
let lender: Awaited<ReturnType<typeof aLender>>;

beforeAll(async () => {
  service = await startTestService({ hasWorker: false });
  lender = await aLender(service);
});

async function importRows(rows: object[], options?: { dryRun?: boolean; atomic?: boolean }) {
  const { status, body } = await lender.importCases(rows, options);
  return { status, body, results: body["results"] as RowResult[], summary: body["summary"] as Record<string, number> };
}

async function rowsIn(table: string): Promise<number> {
  const { rows } = await service.app.database.pool.query<{ count: number }>(`select count(*)::int from ${table}`);
  return rows[0]!.count;
}

describe("an import", () => {
  test("that is requested as a dry run, in any of the possible ways, returns the results of a real import and stores nothing", async () => {
    const applied = "cases.import_run where applied";
    const tables = ["cases.collection_case", "webhooks.event", "ledger.transfer", "ledger.account", applied];
    await importRows([aRow("DRY-2")]);
    const before = await Promise.all(tables.map(rowsIn));
    const rows = [aRow("DRY-1"), aRow("DRY-2", { outstandingAmount: 1 })];
    const answers = [
      await lender.call("POST", `${PATH}?dryRun=true`, { rows }),
      await lender.call("POST", `${PATH}?dryRun`, { rows }),
      await lender.call("POST", `${PATH}?dryRun=1`, { rows, dryRun: false }),
      await lender.call("POST", PATH, { rows, dryRun: true }),
    ];
    for (const { status, body } of answers) {
      expect(status).toBe(200);
      expect(body).toMatchObject({ dryRun: true, importId: null, summary: { created: 1, updated: 1 } });
      const [created, updated] = body["results"] as RowResult[];
      expect(created).not.toHaveProperty("caseId");
      expect(created).toMatchObject({ outcome: "created", status: "new", outstandingAmount: 5000 });
      expect(updated).toMatchObject({ outcome: "updated", outstandingAmount: 1 });
    }
    expect(await Promise.all(tables.map(rowsIn))).toEqual(before);
  });

  test("with atomic applies all of its rows or none", async () => {
    const refused = await importRows([aRow("ATOM-1"), aRow("ATOM-2", { borrowerPhone: "1" })], { atomic: true });
    expect(refused.status).toBe(422);
    expect(refused.body).toMatchObject({
      code: "IMPORT_REJECTED",
      dryRun: false,
      importId: null,
      summary: { created: 1, rejected: 1 },
    });
    expect(refused.results[0]).toMatchObject({ outcome: "created" });
    expect(refused.results[0]).not.toHaveProperty("caseId");
    expect((await lender.getCase("ATOM-1")).status).toBe(404);
    expect((await importRows([aRow("ATOM-1"), aRow("ATOM-2")], { atomic: true })).summary).toMatchObject({
      created: 2,
    });
  });
});

describe("a query parameter of an import", () => {
  test.each(["dryRun=maybe", "dryRun=TRUE", "dryRun=yes", "atomic=on", "dryRun=true&dryRun=maybe", "atomic=2"])(
    "%s is rejected as neither true nor false, whatever the body says",
    async (query) => {
      const body = { rows: [aRow("ODD-1")], dryRun: true, atomic: true };
      const answer = await lender.call("POST", `${PATH}?${query}`, body);
      expect(answer.status).toBe(422);
      expect(answer.body).toMatchObject({ code: "INVALID_ENUM", errors: [{ pointer: "" }] });
    },
  );

  test.each(["dryRun=0&atomic=false", "", "atomic"])(
    "such as '%s' does not request a dry run, so the rows are imported",
    async (query) => {
      const answer = await lender.call("POST", `${PATH}?${query}`, { rows: [aRow(`GOOD-${query}`)] });
      expect(answer.body).toMatchObject({ success: true, dryRun: false, summary: { created: 1 } });
      expect(answer.body).not.toHaveProperty("warnings");
    },
  );

  test("that is unknown is ignored with a warning", async () => {
    const answer = await lender.call("POST", `${PATH}?dryrun=true&%0a=1`, { rows: [aRow("WORD-1")] });
    expect(answer.body).toMatchObject({
      success: true,
      dryRun: false,
      warnings: [
        {
          code: "UNKNOWN_PARAMETER",
          pointer: "",
          detail: 'The query parameter "dryrun" was ignored. Did you mean dryRun?',
        },
        { code: "UNKNOWN_PARAMETER", pointer: "", detail: 'The query parameter "\\n" was ignored.' },
      ],
    });
  });
});

test("an import that is rejected as a whole reports its errors together with its warnings", async () => {
  const refused = await lender.call("POST", `${PATH}?dryRun=maybe&dryrun`, { row: [], rows: "none" });
  expect(refused.status).toBe(422);
  expect(refused.body).toMatchObject({
    code: "VALIDATION_FAILED",
    errors: [
      { code: "INVALID_ENUM", pointer: "" },
      { code: "WRONG_TYPE", pointer: "/rows" },
    ],
    warnings: [{ code: "UNKNOWN_PARAMETER" }, { code: "UNKNOWN_FIELD", pointer: "/row" }],
  });
  const rows = Array.from({ length: 1_001 }, () => ({}));
  const tooMany = await lender.call("POST", PATH, { rows, dryrun: true });
  expect(tooMany.body).toMatchObject({ code: "TOO_MANY_ROWS", warnings: [{ pointer: "/dryrun" }] });
  const plain = await lender.call("POST", PATH, { rows: "none" });
  expect(plain.body).not.toHaveProperty("warnings");
});
