import { publicId } from "@collections/database";
import { assignCase, assignCases, closeCase } from "@collections/flows";
import { actsOnLoan, type Lender, lenderByCode } from "@collections/lenders";
import { suspendFieldPartner } from "@collections/field-partners";
import { transaction } from "@collections/database";
import { eventsOf } from "@collections/webhooks";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { commandsInProcess } from "../fixtures/commands.ts";
import { aFieldPartner, aLender, aRow, startTestService, type TestService } from "../fixtures/fixture.ts";
import type { Cli } from "../fixtures/processes.ts";

interface Assignment extends Record<string, unknown> {
  readonly fieldPartners: readonly { readonly fieldPartnerId: string; readonly cases: number }[];
  readonly rejectedMoves: readonly { readonly sourceLoanNumber: string | null; readonly code: string }[];
  readonly rejectedFile: string | null;
}

let service: TestService;
let cli: Cli;
let twin: Awaited<ReturnType<typeof aLender>>;
let lender: Lender;
let asha: Person;
let ravi: Person;
let folder: string;
let lenders = 0;

interface Person {
  readonly id: string;
  readonly shown: string;
}

beforeAll(async () => {
  service = await startTestService({ hasWorker: false });
  cli = commandsInProcess({ DATABASE_URL: service.databaseUrl });
  [asha, ravi] = [await aPerson(), await aPerson()];
  folder = await mkdtemp(join(tmpdir(), "moves-"));
});

async function aPerson(): Promise<Person> {
  const { id } = await aFieldPartner(service);
  return { id, shown: publicId("fp", id) };
}

/** Gives the tests a new lender with this number of loans, `L-000` and so on. */
async function withLoans(
  count: number,
  fields: (number: number) => Record<string, unknown> = () => ({}),
): Promise<string[]> {
  twin = await aLender(service);
  lender = (await lenderByCode(service.app.database.em(), twin.code))!;
  const loans = Array.from({ length: count }, (_, number) => `L-${String(number).padStart(3, "0")}`);
  await twin.importCases(loans.map((loan, number) => aRow(loan, fields(number))));
  return loans;
}

async function assignment(...args: string[]): Promise<Assignment & { exitCode: number | null }> {
  const { code, stdout } = await cli("case", "assign", twin.code, ...args, "--json");
  return { ...(JSON.parse(stdout) as Assignment), exitCode: code };
}

async function fileOf(...lines: string[]): Promise<string> {
  const path = join(folder, `moves-${(lenders += 1)}.csv`);
  await writeFile(path, `${lines.join("\n")}\n`);
  return path;
}

async function holders(): Promise<Record<string, string | null>> {
  const { cases } = (await cli.json("case", "list", "--lender", twin.code, "--limit", "1000")) as unknown as {
    cases: { sourceLoanNumber: string; fieldPartnerId: string | null }[];
  };
  return Object.fromEntries(cases.map((one) => [one.sourceLoanNumber, one.fieldPartnerId]));
}

async function kindsOf(loan: string): Promise<string[]> {
  return (await eventsOf(service.app.database.em(), lender.id, loan)).map(({ kind }) => kind);
}

const assignTo = (loan: string, { id }: Person) =>
  assignCase(service.app.database.em(), { lender, loan, reason: null, fieldPartnerId: id }, "sandbox");

describe("`case assign --file`", () => {
  test("assigns and unassigns cases, writes refused lines to a file beside it, and changes nothing in a second run", async () => {
    await withLoans(4);
    await assignTo("L-001", asha);
    await assignTo("L-002", ravi);
    const path = await fileOf(
      "Loan No;Assign To;Note",
      `L-000;${ravi.shown};`,
      `L-001;${ravi.shown};`,
      `L-002;none;`,
      `L-003;somebody;=cmd()`,
      `L-000;${asha.shown};`,
      `L-999;${asha.shown};`,
      `;${asha.shown};`,
    );
    const planned = await assignment("--file", path, "--dry-run");
    expect(await holders()).toMatchObject({ "L-000": null, "L-001": asha.shown, "L-002": ravi.shown });
    const done = await assignment("--file", path, "--yes", "--reason", "new areas");
    expect(done).toEqual({ ...planned, dryRun: false, rejectedFile: path.replace(".csv", ".rejected.csv") });
    expect(planned.rejectedFile).toBeNull();
    expect(done).toMatchObject({
      exitCode: 6,
      assigned: 2,
      unassigned: 1,
      unchanged: 0,
      rejected: 4,
      fieldPartners: [{ fieldPartnerId: ravi.shown, cases: 2, outstandingAmount: "10000.00", currency: "INR" }],
    });
    expect(done.rejectedMoves.map(({ code }) => code)).toEqual([
      "FIELD_PARTNER_NOT_FOUND",
      "DUPLICATE_LOAN",
      "LOAN_NOT_FOUND",
      "REQUIRED",
    ]);
    expect(await readFile(done.rejectedFile!, "utf8")).toMatch(/L-003;somebody;'=cmd\(\)\r?\n/);
    expect(await holders()).toEqual({ "L-000": ravi.shown, "L-001": ravi.shown, "L-002": null, "L-003": null });
    expect(await kindsOf("L-001")).toEqual(["case.created", "case.assigned", "case.unassigned", "case.assigned"]);
    expect(await actsOnLoan(service.app.database.em(), lender.id, "L-001", 1)).toMatchObject([
      { act: "case.assign", reason: "new areas" },
    ]);
    expect(await assignment("--file", path, "--yes")).toMatchObject({ assigned: 0, unassigned: 0, unchanged: 3 });
    expect(await kindsOf("L-001")).toHaveLength(4);
  });

  test("refuses a file with an unknown column and no column assignTo, an empty file and a file that does not exist", async () => {
    await withLoans(1);
    for (const lines of [["Loan No,Somebody", "L-000,x"], [""]]) {
      const { code } = await cli("case", "assign", twin.code, "--file", await fileOf(...lines), "--yes");
      expect(code).toBe(1);
    }
    expect(await cli("case", "assign", twin.code, "--file", join(folder, "nothing.csv"), "--yes")).toMatchObject({
      code: 3,
    });
  });
});

describe("`case assign --from --to`", () => {
  test("moves those cases of a person that match the other options, and shows a case on hold as refused", async () => {
    const loans = await withLoans(5, (number) => ({ branchCode: number < 4 ? "PUNE" : "DELHI" }));
    for (const loan of loans) await assignTo(loan, asha);
    await cli.json("case", "hold", twin.code, "L-001", "--reason", "disputed");
    const args = ["--from", asha.shown, "--to", ravi.shown, "--branch", "PUNE"];
    const planned = await assignment(...args, "--dry-run");
    const done = await assignment(...args, "--yes");
    expect(done).toEqual({ ...planned, dryRun: false, rejectedFile: `moves-${twin.code}.rejected.csv` });
    expect(done).toMatchObject({ exitCode: 6, assigned: 3, rejectedMoves: [{ sourceLoanNumber: "L-001" }] });
    const rejected = await readFile(done.rejectedFile!, "utf8");
    expect(rejected).toMatch(new RegExp(`loan,assignTo\\r?\\n\\d+,.*hold.*,L-001,${ravi.shown}\\r?\\n$`));
    expect(await assignment("--file", done.rejectedFile!, "--yes")).toMatchObject({ exitCode: 6, rejected: 1 });
    await rm(`moves-${twin.code}.rejected.rejected.csv`, { force: true });
    await rm(done.rejectedFile!);
    expect(await holders()).toMatchObject({ "L-000": ravi.shown, "L-001": asha.shown, "L-004": asha.shown });
  });

  test("refuses to give cases to a suspended field partner", async () => {
    await withLoans(1);
    const gone = await aPerson();
    await transaction(service.app.database.em(), (tx) => suspendFieldPartner(tx, gone.id, new Date()));
    const { code, stdout } = await cli(
      "case",
      "assign",
      twin.code,
      "--from",
      asha.shown,
      "--to",
      gone.shown,
      "--yes",
      "--json",
    );
    expect([code, stdout]).toEqual([1, expect.stringContaining("FIELD_PARTNER_SUSPENDED")]);
  });
});

describe("`case assign --spread`", () => {
  test.each(["amount", "postal-code"])(
    "by %s assigns every unassigned case, with the result that the dry run showed",
    async (rule) => {
      const loans = await withLoans(21, (number) => ({
        outstandingAmount: 1_000 + number * 10,
        addresses: [{ line1: "1 Road", postalCode: `41100${number % 6}` }],
      }));
      await assignTo(loans[0]!, asha);
      const args = ["--spread", `${asha.shown},${ravi.shown}`, "--by", rule];
      const planned = await assignment(...args, "--dry-run");
      const done = await assignment(...args, "--yes");
      expect(done).toEqual({ ...planned, dryRun: false });
      expect(done.fieldPartners.map(({ cases }) => cases)).toEqual([10, 10]);
      expect(Object.values(await holders())).not.toContain(null);
    },
  );

  test("spreads the cases of the field partner in --holder instead of the unassigned cases", async () => {
    const loans = await withLoans(4);
    for (const loan of loans.slice(0, 3)) await assignTo(loan, asha);
    await assignment("--spread", ravi.shown, "--by", "amount", "--holder", asha.shown, "--yes");
    expect(await holders()).toEqual({ "L-000": ravi.shown, "L-001": ravi.shown, "L-002": ravi.shown, "L-003": null });
  });
});

test("two concurrent runs of `case assign --spread` assign every case once", async () => {
  const loans = await withLoans(450);
  const args = ["--spread", `${asha.shown},${ravi.shown}`, "--by", "amount", "--yes"];
  const runs = await Promise.all([assignment(...args), assignment(...args)]);
  const counts = runs.map(
    ({ assigned, unchanged, rejected }) => Number(assigned) + Number(unchanged) + Number(rejected),
  );
  expect(runs.reduce((sum, { assigned }) => sum + Number(assigned), 0)).toBe(450);
  expect(Math.max(...counts)).toBe(450);
  for (const { rejectedFile } of runs) if (rejectedFile !== null) await rm(rejectedFile);
  const kinds = await Promise.all(loans.slice(0, 30).map(kindsOf));
  expect(new Set(kinds.map(String))).toEqual(new Set(["case.created,case.assigned"]));
});

test("a bulk move beside confirmations moves every case and books every payment", async () => {
  const loans = await withLoans(450);
  const paid = loans.filter((_, number) => number % 9 === 0);
  const moving = assignment("--spread", `${asha.shown},${ravi.shown}`, "--by", "postal-code", "--yes");
  const answers: number[] = [];
  for (const loan of paid) {
    const payment = { amount: 10, reference: `beside-${loan}`, paidAt: new Date().toISOString(), mode: "upi" };
    answers.push((await twin.confirm(loan, payment)).status);
  }
  expect(await moving).toMatchObject({ exitCode: 0, assigned: 450, rejected: 0 });
  expect(new Set(answers)).toEqual(new Set([200]));
  expect(Object.values(await holders())).not.toContain(null);
  expect(await cli.json("ledger", "verify", "--lender", twin.code)).toMatchObject({
    ok: true,
    counts: { bookings: paid.length },
  });
});

test("assignCases refuses a case that got another holder or ended after the plan was made, and assigns the others", async () => {
  await withLoans(3);
  await assignTo("L-000", ravi);
  const em = service.app.database.em();
  await closeCase(em, { lender, loan: "L-001", reason: "written off" }, "sandbox");
  const moves = ["L-000", "L-001", "L-002"].map((loan) => ({ loan, fieldPartnerId: asha.id, plannedFrom: null }));
  const order = { lender, moves, reason: null, dryRun: false };
  expect(await assignCases(em, order, "sandbox")).toMatchObject([
    { kind: "refused", code: "HOLDER_CHANGED" },
    { kind: "refused", code: "CASE_ENDED" },
    { kind: "assigned" },
  ]);
  expect(await kindsOf("L-000")).toEqual(["case.created", "case.assigned"]);
});

test("`case assign` without --yes and without a terminal changes nothing, and exits with 2 for a wrong combination of options", async () => {
  await withLoans(1);
  const spread = ["--spread", asha.shown, "--by", "amount"];
  expect(await cli("case", "assign", twin.code, ...spread)).toMatchObject({ code: 1 });
  expect(await holders()).toEqual({ "L-000": null });
  for (const args of [
    [],
    ["--from", asha.shown],
    ["--spread", asha.shown],
    ["--by", "amount"],
    ["--spread", `${asha.shown},${asha.id}`, "--by", "amount"],
    ["--spread", `${asha.shown},`, "--by", "amount"],
    [...spread, "--from", asha.shown, "--to", ravi.shown],
    ["--from", asha.shown, "--to", ravi.shown, "--holder", "none"],
    ["--file", "moves.csv", "--branch", "PUNE"],
    [...spread, "--yes", "--dry-run"],
    [...spread, "--json"],
    ["L-000"],
    ["L-000", asha.shown, "--branch", "PUNE"],
  ]) {
    expect([args, (await cli("case", "assign", twin.code, ...args)).code]).toEqual([args, 2]);
  }
});
