import { publicId } from "@collections/database";
import { actsOn, lenderByCode } from "@collections/lenders";
import { beforeAll, describe, expect, test } from "vitest";
import { commandsInProcess } from "../fixtures/commands.ts";
import { aFieldPartner, aLender, aRow, assign, startTestService, type TestService } from "../fixtures/fixture.ts";
import type { Cli } from "../fixtures/processes.ts";
import { visitSetup, type VisitSetup } from "../fixtures/visit-setup.ts";

const DAY_MS = 86_400_000;

let service: TestService;
let cli: Cli;
let setup: VisitSetup;
let lender: VisitSetup["lender"];
let asha: string;
let ravi: string;

interface ListedCase extends Record<string, unknown> {
  readonly lenderCode: string;
  readonly sourceLoanNumber: string;
}

interface Listed {
  readonly cases: readonly ListedCase[];
  readonly nextCursor: string | null;
}

/** Two field partners, and cases that differ in every field that a filter reads. */
beforeAll(async () => {
  service = await startTestService({ hasWorker: false });
  cli = commandsInProcess({ DATABASE_URL: service.databaseUrl });
  setup = await visitSetup(service);
  lender = setup.lender;
  asha = publicId("fp", setup.fieldPartnerId);
  const { id } = await aFieldPartner(service);
  ravi = publicId("fp", id);
  await lender.importCases([
    aRow("LN-1", {
      borrowerName: "Farah Khan",
      dpd: 12,
      branchCode: "PUNE-1",
      addresses: [{ line1: "1 Road", postalCode: "411 045" }],
    }),
    aRow("LN-2", { borrowerName: "Asha Rao", dpd: 45, branchCode: "PUNE-1" }),
    aRow("LN-3", { borrowerName: "=cmd()", dpd: 60, branchCode: "PUNE-2" }),
    aRow("XX-13", { borrowerName: "Imran Khan", dpd: 90 }),
  ]);
  await assign(service, lender.code, "LN-2", setup.fieldPartnerId);
  await assign(service, lender.code, "LN-3", id);
  await lender.confirm("XX-13", { amount: 5_000, reference: "U1", paidAt: new Date().toISOString(), mode: "upi" });
});

async function list(...args: string[]): Promise<Listed> {
  return (await cli.json("case", "list", ...args)) as unknown as Listed;
}

async function loans(...args: string[]): Promise<unknown[]> {
  const { cases, nextCursor } = await list("--lender", lender.code, ...args);
  expect(nextCursor).toBeNull();
  return cases.map(({ sourceLoanNumber }) => sourceLoanNumber);
}

describe("`case list` lists the cases", () => {
  test.each<[string, () => string[], string[]]>([
    ["of a lender", () => [], ["LN-1", "LN-2", "LN-3", "XX-13"]],
    ["with one of some statuses", () => ["--status", "collected,new"], ["LN-1", "XX-13"]],
    ["of a field partner", () => ["--holder", ravi], ["LN-3"]],
    ["that are unassigned", () => ["--holder", "none"], ["LN-1", "XX-13"]],
    ["of a branch", () => ["--branch", "PUNE-1"], ["LN-1", "LN-2"]],
    ["of a postal code, however it is written", () => ["--postal-code", "411045"], ["LN-1"]],
    ["with a number of days past due", () => ["--dpd", "45"], ["LN-2"]],
    ["with a range of days past due", () => ["--dpd", "45..60"], ["LN-2", "LN-3"]],
    ["that are past due by a number of days or more", () => ["--dpd", "60.."], ["LN-3", "XX-13"]],
    ["with the end of a loan number", () => ["--search", "n-3"], ["LN-3"]],
    ["with each word of a borrower's name", () => ["--search", "khan imr"], ["XX-13"]],
    ["that match several options", () => ["--branch", "PUNE-1", "--holder", asha, "--dpd", "45"], ["LN-2"]],
  ])("%s", async (_title, args, expected) => {
    expect(await loans(...args())).toEqual(expected);
  });

  test("with a promise for a day, and without a visit since a time", async () => {
    const { loan, visitId } = await setup.visit({ borrowerName: "Visited" });
    const other = await setup.assignedCase({ borrowerName: "Not visited" });
    const dueOn = new Date(Date.now() + 3 * DAY_MS).toISOString().slice(0, 10);
    await setup.app.mutate(
      "completeVisit",
      {
        visitId,
        occurredAt: new Date().toISOString(),
        disposition: "PROMISE_TO_PAY",
        promise: { amount: { minor: "100000", currency: "INR" }, dueOn },
      },
      "visit { visitId }",
    );
    expect(await loans("--promise-due", dueOn)).toEqual([loan]);
    expect(await loans("--promise-due", `2026-01-01..${dueOn}`, "--holder", asha)).toEqual([loan]);
    expect(await loans("--promise-due", "2026-01-01..2026-01-31")).toEqual([]);
    expect(await loans("--not-visited-since", "1h", "--search", "visited")).toEqual([other.loan]);
    const { cases } = await list("--lender", lender.code, "--search", loan);
    expect(cases).toMatchObject([
      {
        sourceLoanNumber: loan,
        fieldPartnerId: asha,
        promiseDueOn: dueOn,
        lastVisitAt: expect.stringMatching(/Z$/) as string,
      },
    ]);
  });
});

test("`case list` over all lenders has every case once in its pages", async () => {
  const others = await aLender(service, { code: "AAA" });
  await others.importCases([aRow("LN-1"), aRow("LN-2")]);
  const seen: unknown[] = [];
  let cursor: string | null = null;
  do {
    const page: Listed = await list("--limit", "2", ...(cursor === null ? [] : ["--cursor", cursor]));
    expect(page.cases.length).toBeLessThanOrEqual(2);
    seen.push(...page.cases.map(({ lenderCode, sourceLoanNumber }) => `${lenderCode} ${sourceLoanNumber}`));
    cursor = page.nextCursor;
  } while (cursor !== null);
  const { cases } = await list("--limit", "1000");
  expect(seen).toEqual(cases.map(({ lenderCode, sourceLoanNumber }) => `${lenderCode} ${sourceLoanNumber}`));
  expect(new Set(seen).size).toBe(seen.length);
  expect(seen.slice(0, 2)).toEqual(["AAA LN-1", "AAA LN-2"]);
});

test("`case list` masks phone numbers, unless --with-contact and a reason are given, which the audit log records", async () => {
  const args = ["--lender", lender.code, "--search", "LN-2"];
  const [masked] = (await list(...args)).cases;
  expect(masked!["borrowerPhone"]).toMatch(/^98•+\d{3}$/);
  const refused = await cli("case", "list", ...args, "--with-contact");
  expect({ code: refused.code, stderr: refused.stderr }).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("--reason") as string,
  });
  const [shown] = (await list(...args, "--with-contact", "--reason", "the borrower asked for a call")).cases;
  expect(shown!["borrowerPhone"]).toMatch(/^\+91\d{10}$/);
  const { id } = (await lenderByCode(service.app.database.em(), lender.code))!;
  expect((await actsOn(service.app.database.em(), id, 1))[0]).toMatchObject({
    act: "contact.revealed",
    reason: "the borrower asked for a call",
    data: { cases: [shown!["caseId"]] },
  });
  const { audit } = (await cli.json("case", "show", lender.code, "LN-2")) as { audit: object[] };
  expect(audit[0]).toMatchObject({ act: "contact.revealed", reason: "the borrower asked for a call" });
});

test("`case list --csv` marks cells that a spreadsheet would run as formulas", async () => {
  const { stdout, stderr } = await cli(
    "case",
    "list",
    "--lender",
    lender.code,
    "--dpd",
    "60..",
    "--limit",
    "1",
    "--csv",
  );
  expect(stderr).toMatch(/^More: add --cursor /);
  const [header, row] = stdout.split("\r\n");
  expect(header).toMatch(/^\uFEFFlenderCode,sourceLoanNumber,caseId,status,/);
  expect(row).toContain("LN-3,case_");
  expect(row).toContain(",'=cmd(),");
});

test("`case list` prints a table with the field partners, and how to see the next page", async () => {
  const { stdout } = await cli("case", "list", "--lender", lender.code, "--limit", "1");
  expect(stdout).toMatch(/^LENDER +LOAN +STATUS +OUTSTANDING/);
  expect(stdout).toMatch(/LN-1 +new +5,000\.00 INR +12 +Farah Khan +98•+\d{3} +nobody/);
  expect(stdout).toMatch(new RegExp(`More: add --cursor ${lender.code}/case_[0-9a-f]{32}\n$`));
  expect((await cli("case", "list", "--lender", lender.code, "--search", "nobody like this")).stdout).toBe(
    "No case matches.\n",
  );
});

test.each([
  [["--status", "paid"], "Expected statuses of new, assigned"],
  [["--dpd", "60..30"], "from the lower number to the higher one"],
  [["--dpd", "many"], "a number of days, or a range"],
  [["--promise-due", "2026-11-30..2026-11-01"], "from the earlier day to the later one"],
  [["--promise-due", "tomorrow"], "Expected a day such as"],
  [["--search", " "], "Expected 1 to 200 characters"],
  [["--cursor", "x"], "Expected the nextCursor of a page"],
  [["--limit", "1001"], "Expected a number from 1 to 1000"],
  [["--json", "--csv"], "either --json or --csv"],
])("`case list %j` is refused with advice", async (args, advice) => {
  const { code, stderr } = await cli("case", "list", ...args);
  expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(advice) as string });
});

test("`case list` exits with 3 for an unknown lender or field partner", async () => {
  expect(await cli("case", "list", "--lender", "NOBODY")).toMatchObject({ code: 3 });
  expect(await cli("case", "list", "--holder", "fp_1")).toMatchObject({ code: 3 });
});
