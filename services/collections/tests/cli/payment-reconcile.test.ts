import { parsePublicId } from "@collections/database";
import { actsOn, lenderByCode } from "@collections/lenders";
import { afterFile, sessionsWaitingForLocks } from "@collections/testing";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Client } from "pg";
import { beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { commandsInProcess } from "../fixtures/commands.ts";
import { aLender, aRow, startTestService, type TestService } from "../fixtures/fixture.ts";
import { type Cli, withDirectUrl } from "../fixtures/processes.ts";

const CLI_MAIN = fileURLToPath(new URL("../../bin/collections.mjs", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "collections-cli-reconcile-"));
afterFile(() => rmSync(folder, { recursive: true, force: true }));

const HEADER = "Loan No,UTR,Amount Paid,Payment Date,Payment Mode";
const NO_DIFFERENCES = {
  onlyYours: 0,
  onlyOurs: 0,
  referenceDiffers: 0,
  amountDiffers: 0,
  onOtherLoan: 0,
  otherDay: 0,
  outsideWindow: 0,
  reversed: 0,
  rejected: 0,
};

let service: TestService;
let lender: Awaited<ReturnType<typeof aLender>>;
let cli: Cli;
let files = 0;

beforeAll(async () => {
  service = await startTestService({ hasWorker: false });
  cli = commandsInProcess({ DATABASE_URL: service.databaseUrl });
});

beforeEach(async () => {
  lender = await aLender(service, { timeZone: "Asia/Kolkata" });
});

function aFile(...lines: string[]): string {
  const path = join(folder, `${(files += 1)}.csv`);
  writeFileSync(path, `${lines.join("\r\n")}\r\n`);
  return path;
}

function args(path: string, ...more: string[]): string[] {
  return ["payment", "reconcile", path, "--lender", lender.code, "--day", "2026-11-21", ...more];
}

async function reconcile(
  path: string,
  ...more: string[]
): Promise<{ code: number | null; answer: Record<string, unknown> }> {
  const { code, stdout, stderr } = await cli(...args(path, ...more, "--json"));
  expect(stderr).toBe("");
  return { code, answer: JSON.parse(stdout) as Record<string, unknown> };
}

async function confirm(loan: string, reference: string, amount: number, paidAt = "2026-11-21T06:30:00Z") {
  expect(await lender.confirm(loan, { amount, reference, paidAt, mode: "upi" })).toMatchObject({ status: 200 });
}

/** Imports loans, confirms one payment on each, and returns the lines of a file with these payments. */
async function confirmed(count: number, prefix: string): Promise<string[]> {
  const indexes = Array.from({ length: count }, (_, index) => index);
  await lender.importCases(indexes.map((index) => aRow(`${prefix}-${index}`)));
  await Promise.all(indexes.map((index) => confirm(`${prefix}-${index}`, `${prefix}U${index}`, index + 1)));
  return indexes.map((index) => `${prefix}-${index},${prefix}U${index},${index + 1},21/11/2026 12:00,UPI`);
}

async function lenderId(): Promise<string> {
  return (await lenderByCode(service.app.database.em(), lender.code))!.id;
}

async function stored(): Promise<object> {
  const { rows } = await service.app.database.pool.query<object>(
    `select (select count(*)::int from ledger.reconciliation_run where lender_id = $1) as runs,
       (select count(*)::int from ledger.reconciliation_difference where lender_id = $1) as differences,
       (select count(*)::int from ledger.reconciliation_row where lender_id = $1)
         + (select count(*)::int from ledger.reconciliation_leftover where lender_id = $1)
         + (select count(*)::int from ledger.reconciliation_match where lender_id = $1) as staged,
       (select count(*)::int from ledger.payment_booking where lender_id = $1) as bookings`,
    [await lenderId()],
  );
  return rows[0]!;
}

/** Runs a query in a transaction that stays open, so that its locks are held until `rollBack` is called. */
async function holdLocks(text: string, values: unknown[] = []): Promise<{ rollBack(): Promise<void> }> {
  const holder = new Client({ connectionString: service.databaseUrl });
  await holder.connect();
  holder.on("error", () => {});
  await holder.query("begin");
  await holder.query(text, values);
  return {
    async rollBack() {
      await holder.query("rollback");
      await holder.end();
    },
  };
}

/** Starts the command in its own process, and kills it as soon as it waits for a lock. */
async function killWhileWaiting(...given: string[]): Promise<void> {
  const env = {
    PATH: process.env["PATH"],
    MASTER_KEY: "a".repeat(64),
    ...withDirectUrl({ DATABASE_URL: service.databaseUrl }),
  };
  const victim = spawn(process.execPath, [CLI_MAIN, ...given], { env, stdio: "ignore" });
  await expect.poll(() => sessionsWaitingForLocks(service.app.database.pool)).toBe(1);
  victim.kill("SIGKILL");
  await once(victim, "exit");
}

test("`payment reconcile` finds one of 214 payments, and books it", async () => {
  const lines = await confirmed(213, "A");
  const path = aFile(HEADER, ...lines, 'A-3,UTR-MISSING,"₹1,234.50",21-Nov-2026 11:30 pm,NEFT');
  const first = await reconcile(path);
  expect(first).toMatchObject({
    code: 6,
    answer: {
      from: "2026-11-20T18:30:00.000Z",
      to: "2026-11-21T18:30:00.000Z",
      counts: { ...NO_DIFFERENCES, matched: 213, onlyYours: 1 },
      yours: [{ currency: "INR", count: 214, amount: "24025.50" }],
      ours: [{ currency: "INR", count: 213, amount: "22791.00" }],
      onlyYours: [
        {
          line: 215,
          loan: "A-3",
          reference: "UTR-MISSING",
          yours: { amount: "1234.50", currency: "INR", paidAt: "2026-11-21T18:00:00.000Z" },
        },
      ],
      previous: null,
    },
  });
  const fixed = await reconcile(path, "--confirm-missing", "--yes", "--reason", "lost by the gateway");
  expect(fixed).toMatchObject({ code: 0, answer: { confirmed: { booked: 1, alreadyBooked: 0, refused: [] } } });
  expect((await lender.getCase("A-3")).body).toMatchObject({
    totalCollected: 1238.5,
    payments: [{ reference: "UTR-MISSING", amount: 1234.5, mode: "neft", paidAt: "2026-11-21T18:00:00.000Z" }, {}],
  });
  expect(await reconcile(path)).toMatchObject({
    code: 0,
    answer: {
      counts: { ...NO_DIFFERENCES, matched: 214 },
      previous: { goneCount: 1, gone: [{ list: "onlyYours", loan: "A-3", reference: "UTR-MISSING" }] },
    },
  });
  const acts = await actsOn(service.app.database.em(), await lenderId(), 2);
  expect(acts).toMatchObject([
    { act: "reconciliation.confirmed", reason: "lost by the gateway", data: { booked: 1, refused: 0 } },
    { act: "reconciliation.confirm_started", reason: "lost by the gateway", data: { missing: 1 } },
  ]);
  const { rows } = await service.app.database.pool.query<{ digest: string }>(
    "select encode(digest, 'hex') as digest from ledger.reconciliation_run where id = $1",
    [parsePublicId("rec", String(fixed.answer["runId"]))],
  );
  expect(acts.map(({ data }) => (data as { digest: string }).digest)).toEqual([rows[0]!.digest, rows[0]!.digest]);
});

test("`payment reconcile` prints counts, sums and lists as text", async () => {
  await lender.importCases(["B-1", "B-2", "B-3"].map((loan) => aRow(loan, { outstandingAmount: 90_000 })));
  await confirm("B-1", "U1", 12_345.5);
  await confirm("B-1", "U2", 7);
  await confirm("B-2", "U3", 50);
  await confirm("B-2", "U5", 60, "2026-11-21T18:30:00Z");
  const path = aFile(
    HEADER,
    "B-1,U1,12345.50,21/11/2026 12:00,upi",
    "B-2,U2,7.00,21/11/2026 12:00,upi",
    "B-2,U3,55.00,21/11/2026 12:00,upi",
    "B-3,U4,8.00,,",
    "B-2,U5,60,21/11/2026 23:59,",
    "B-3,U6,5OO,21/11/2026,",
  );
  const { code, stdout, stderr } = await cli(...args(path));
  expect(code).toBe(6);
  expect(stderr).toMatch(/UTR +reference\nAmount Paid +amount\n/);
  expect(stdout.replace(/rec_[0-9a-f]{32}/, "rec_…")).toBe(
    `Payments of ${lender.code} from 2026-11-21 00:00:00 Asia/Kolkata (2026-11-20T18:30:00.000Z) to 2026-11-22 00:00:00 Asia/Kolkata (2026-11-21T18:30:00.000Z):
SIDE    PAYMENTS  SUM
file    5         12,475.50 INR
booked  3         12,402.50 INR

matched           1
onlyYours         1  in the file, and not booked; --confirm-missing books them
onlyOurs          0  booked, and not in the file
referenceDiffers  0  probably booked on the same loan under another reference; never booked from the file
amountDiffers     1  booked with another amount or currency
onOtherLoan       1  reference booked on another loan; never booked from the file
otherDay          1  booked outside the window, or with a time up to a day outside of it in the file
outsideWindow     0  more than a day outside the window in the file; never booked from the file
reversed          0  reversed, so that the rest has another amount
rejected          1  could not be compared

onlyYours:
  LINE  LOAN  REFERENCE  FILE      BOOKED  REVERSED  PAID AT
  5     B-3   U4         8.00 INR

amountDiffers:
  LINE  LOAN  REFERENCE  FILE       BOOKED     REVERSED  PAID AT
  4     B-2   U3         55.00 INR  50.00 INR            2026-11-21 12:00:00 Asia/Kolkata (2026-11-21T06:30:00.000Z)

onOtherLoan:
  LINE  LOAN                 REFERENCE  FILE      BOOKED    REVERSED  PAID AT
  3     B-2 (booked on B-1)  U2         7.00 INR  7.00 INR            2026-11-21 12:00:00 Asia/Kolkata (2026-11-21T06:30:00.000Z)

otherDay:
  LINE  LOAN  REFERENCE  FILE       BOOKED     REVERSED  PAID AT
  6     B-2   U5         60.00 INR  60.00 INR            2026-11-22 00:00:00 Asia/Kolkata (2026-11-21T18:30:00.000Z)

rejected:
  line 7: column "Amount Paid": "5OO" is not an amount; write it as 123456.50 or 1,23,456.50. column "Payment Date": "21/11/2026" has no time of day, and the payment may be before or after a balance of that day. Write 21/11/2026 18:00, or give the time of such payments with --paid-time.

Lines in referenceDiffers and onOtherLoan are not booked, because their payments probably are. If a line is a payment of its own, the lender confirms it by this call:
  line 3: POST /api/v1/partner/cases/B-2/payments/confirm {"amount":7.00,"reference":"U2","paidAt":"2026-11-21T06:30:00.000Z","mode":"upi"}

If a booking in amountDiffers is too low, the lender confirms the rest under another reference, with the booked reference in partOf.

Stored as rec_….
All rejected rows, with the reasons: ${path.replace(/csv$/, "rejected.csv")}
`,
  );
});

describe("`payment reconcile` with several lines of one reference", () => {
  const lines = [
    "Q-1,U1,10.5,21/11/2026 12:00,NEFT",
    "Q-1,U2,7,21/11/2026 12:00,UPI",
    "Q-1,U1,15.25,21/11/2026 13:00,UPI",
    "Q-1,U1,10.5,21/11/2026 14:00,UPI",
  ];

  beforeEach(async () => {
    await lender.importCases([aRow("Q-1")]);
  });

  test("names the option that sums them", async () => {
    const { stdout } = await cli(...args(aFile(HEADER, ...lines)));
    expect(stdout).toContain("PARTS_NOT_CLEAR: 1 payment with several lines and different amounts.");
    expect(stdout).toContain("\n  --parts 2\n");
  });

  test("compares and books their sum with --parts", async () => {
    const path = aFile(HEADER, ...lines);
    const { answer } = await reconcile(path, "--parts", "4", "--confirm-missing", "--yes", "--reason", "lost");
    expect(answer).toMatchObject({
      counts: { onlyYours: 2, rejected: 0 },
      yours: [{ count: 2, amount: "43.25" }],
      onlyYours: [{ line: 2, reference: "U1", yours: { amount: "36.25" } }, { line: 3 }],
      confirmed: { booked: 2 },
    });
    expect((await lender.getCase("Q-1")).body).toMatchObject({ totalCollected: 43.25 });
    expect(await actsOn(service.app.database.em(), await lenderId(), 1)).toMatchObject([{ data: { parts: [4] } }]);
    expect(await reconcile(path, "--parts", "2")).toMatchObject({ code: 0 });
  });

  test("rejects all of them if a part cannot be read", async () => {
    const path = aFile(HEADER, ...lines, "Q-1,U1,1O,21/11/2026 12:00,");
    const { answer } = await reconcile(path, "--parts", "2");
    expect(answer).toMatchObject({ counts: { onlyYours: 1, rejected: 4 } });
    expect(answer["rejected"]).toContainEqual(
      expect.objectContaining({
        line: 4,
        errors: [{ code: "PARTS_NOT_CLEAR", detail: expect.stringMatching(/^Line 6 is a part/) }],
      }),
    );
  });

  test("refuses --parts with a line without a payment", async () => {
    const { code, stderr } = await cli(...args(aFile(HEADER, ...lines), "--parts", "9", "--json"));
    expect({ code, stderr }).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("no readable payment in line 9"),
    });
    expect(await stored()).toMatchObject({ runs: 0 });
  });
});

test("`payment reconcile --paid-time` sets the time of cells with a date", async () => {
  await lender.importCases([aRow("C-1")]);
  const path = aFile(HEADER, "C-1,U1,10,21/11/2026,");
  const { answer } = await reconcile(path, "--paid-time", "12:00");
  expect(answer).toMatchObject({ onlyYours: [{ yours: { paidAt: "2026-11-21T06:30:00.000Z" } }] });
});

test.each([
  ["a time among other times", ["21/11/2026 00:00:00", "21/11/2026 12:30"], { onlyYours: 2, rejected: 0 }],
  ["a date if every cell has it", ["21/11/2026 00:00:00", "2026-11-20T18:30:00Z"], { onlyYours: 0, rejected: 2 }],
])("`payment reconcile` reads midnight as %s", async (_what, times, counts) => {
  await lender.importCases([aRow("R-1")]);
  const path = aFile(HEADER, ...times.map((time, index) => `R-1,U${index},${index + 1},${time},`));
  const { answer } = await reconcile(path);
  expect(answer).toMatchObject({ counts });
  expect(answer["rejected"]).toEqual(
    times.slice(0, counts.rejected).map((time, index) => ({
      line: index + 2,
      loan: "R-1",
      reference: `U${index}`,
      errors: [{ code: "INVALID_DATE", detail: expect.stringContaining(`"${time}" is midnight like every time`) }],
    })),
  );
  const { answer: timed } = await reconcile(path, "--paid-time", "10:00");
  const paidAt = counts.rejected > 0 ? "2026-11-21T04:30:00.000Z" : "2026-11-20T18:30:00.000Z";
  expect(timed).toMatchObject({ counts: { onlyYours: 2 }, onlyYours: [{ yours: { paidAt } }, {}] });
});

describe("a column with Dr and Cr", () => {
  const lines = ["S-1,U1,10,Cr", "S-1,U2,20,Dr", "S-1,U3,30,CREDIT", "S-1,U4,40,"];

  test("is read by its usual name, and a debit is rejected", async () => {
    await lender.importCases([aRow("S-1")]);
    const { answer } = await reconcile(aFile("Loan No,UTR,Amount,Dr/Cr", ...lines));
    expect(answer).toMatchObject({
      counts: { onlyYours: 2, rejected: 2 },
      rejected: [
        { line: 3, errors: [{ detail: 'column "Dr/Cr": The line is a debit, and a debit is not a payment.' }] },
        { line: 5, errors: [{ code: "REQUIRED" }] },
      ],
    });
  });

  test("of another name must be named before anything is compared", async () => {
    const path = aFile("Loan No,UTR,Amount,Kind", ...lines);
    const { code, stderr } = await cli(...args(path));
    expect({ code, stderr }).toMatchObject({ code: 1, stderr: expect.stringContaining('--map "Kind=direction"') });
    expect(await stored()).toMatchObject({ runs: 0 });
    expect((await reconcile(path, "--map", "Kind=direction")).answer).toMatchObject({ counts: { rejected: 2 } });
    expect((await reconcile(path, "--map", "Kind=-")).answer).toMatchObject({ counts: { onlyYours: 4 } });
  });
});

test("`payment reconcile` writes rejected rows with their reasons to a file", async () => {
  await lender.importCases([aRow("T-1")]);
  const path = aFile(HEADER, "T-1,U1,1O,21/11/2026 12:00,", "T-1,U2,2,21/11/2026 12:00,", "T-1,U2,2,21/11/2026 12:00,");
  const rejectedPath = path.replace(/csv$/, "rejected.csv");
  const { answer } = await reconcile(path);
  expect(answer).toMatchObject({ rejectedFile: rejectedPath });
  const [header, ...rows] = readFileSync(rejectedPath, "utf8").trimEnd().split(/\r?\n/);
  expect(header).toContain(`Rejected line,Rejected because,${HEADER}`);
  expect(rows).toEqual([
    expect.stringMatching(/^2,.*is not an amount.*T-1,U1,1O,/),
    expect.stringMatching(/^4,Line 3 has the same loan and reference.*T-1,U2,2,/),
  ]);
  expect((await reconcile(rejectedPath)).answer).toMatchObject({ counts: { rejected: 1, onlyYours: 1 } });
  writeFileSync(path, `${HEADER}\n`);
  expect((await reconcile(path)).answer).toMatchObject({ rejectedFile: null });
  expect(readFileSync(rejectedPath, "utf8")).toContain("T-1,U1,1O,");
});

test("`payment reconcile` takes a window in local time by --from and --to", async () => {
  const lines = await confirmed(2, "D");
  const window = ["--from", "2026-11-21 12:00", "--to", "2026-11-21 12:01"];
  const command = ["payment", "reconcile", aFile(HEADER, ...lines), "--lender", lender.code, ...window, "--json"];
  const { code, stdout } = await cli(...command);
  expect({ code, answer: JSON.parse(stdout) as object }).toMatchObject({
    code: 0,
    answer: { from: "2026-11-21T06:30:00.000Z", to: "2026-11-21T06:31:00.000Z", counts: { matched: 2 } },
  });
});

test.each([
  ["no window", ["--reason", "x"], [], 2],
  ["a window given twice", ["--day", "2026-11-21", "--from", "09:00", "--to", "10:00"], [], 2],
  ["a window that ends before it begins", ["--from", "2026-11-21 10:00", "--to", "2026-11-21 09:00"], [], 2],
  ["--confirm-missing without a reason", ["--day", "2026-11-21", "--confirm-missing"], [], 2],
  ["--yes without --confirm-missing", ["--day", "2026-11-21", "--yes"], [], 2],
  [
    "--json with --confirm-missing and without --yes",
    ["--day", "2026-11-21", "--confirm-missing", "--reason", "x", "--json"],
    [],
    2,
  ],
  ["a file without a column for the reference", ["--day", "2026-11-21"], ["Loan No,Amount", "A,1"], 1],
])("`payment reconcile` with %s is refused, and stores no run", async (_what, options, lines, code) => {
  const path = aFile(...(lines.length > 0 ? lines : [HEADER, "A,U1,1,,"]));
  const result = await cli("payment", "reconcile", path, "--lender", lender.code, ...options);
  expect(result, result.stderr).toMatchObject({ code });
  expect(await stored()).toMatchObject({ runs: 0 });
});

test("`payment reconcile` exits with 3 for an unknown file or lender", async () => {
  expect(await cli(...args(join(folder, "none.csv")))).toMatchObject({ code: 3 });
  const named = ["payment", "reconcile", aFile(HEADER), "--lender", "NOBODY", "--day", "2026-11-21"];
  expect(await cli(...named)).toMatchObject({ code: 3 });
});

describe("`payment reconcile --confirm-missing`", () => {
  test("without --yes shows the differences and books nothing if it cannot ask", async () => {
    await lender.importCases([aRow("E-1")]);
    const path = aFile(HEADER, "E-1,U1,10,21/11/2026 12:00,");
    const { code, stderr } = await cli(...args(path, "--confirm-missing", "--reason", "lost"));
    expect(code).toBe(1);
    expect(stderr).toContain("onlyYours         1");
    expect(stderr).toContain("No payment was booked. Add --yes to book the missing payments.");
    expect(await stored()).toMatchObject({ bookings: 0, runs: 1 });
  });

  test("reports the payments that a confirmation refuses, and books the others", async () => {
    await lender.importCases([aRow("F-1", { outstandingAmount: 50 })]);
    const path = aFile(
      HEADER,
      `F-1,U1,10,21/11/2026 12:00,paper \u0001 money ${"of a wallet ".repeat(500)}`,
      "F-1,U2,10,,UPI",
      "F-9,U3,10,21/11/2026 12:00,UPI",
      "F-1,U4,4000,21/11/2026 12:00,UPI",
    );
    const { code, answer } = await reconcile(path, "--confirm-missing", "--yes", "--reason", "lost");
    expect(code).toBe(6);
    expect(answer["confirmed"]).toMatchObject({
      booked: 1,
      refusedCount: 3,
      refused: [
        { position: 3, reference: "U2", code: "REQUIRED" },
        { position: 4, loan: "F-9", code: "LOAN_NOT_FOUND" },
        { position: 5, reference: "U4", code: "AMOUNT_LOOKS_LIKE_MINOR_UNITS" },
      ],
    });
    expect((await lender.getCase("F-1")).body).toMatchObject({ payments: [{ reference: "U1", mode: "other" }] });
  });

  test("never books a reference that is booked on another loan", async () => {
    await lender.importCases([aRow("J-1"), aRow("J-2")]);
    await confirm("J-1", "U1", 10, "2026-06-01T06:30:00Z");
    const path = aFile(HEADER, "J-2,U1,15,21/11/2026 12:00,UPI", "J-2,U2,20,21/11/2026 12:00,UPI");
    const { code, answer } = await reconcile(path, "--confirm-missing", "--yes", "--reason", "lost");
    expect({ code, answer }).toMatchObject({
      code: 6,
      answer: {
        counts: { onlyYours: 1, onOtherLoan: 1 },
        onOtherLoan: [{ loan: "J-2", reference: "U1", ours: { loan: "J-1", amount: "10.00" } }],
        confirmed: { booked: 1, alreadyBooked: 0, refusedCount: 0 },
      },
    });
    expect((await lender.getCase("J-2")).body).toMatchObject({ totalCollected: 20 });
  });

  test("never books a payment again whose reference was changed in the file", async () => {
    const references = ["00417", "UTR55A", "utr7b8", "AX9901", "88120", "77001"];
    await lender.importCases(references.map((_, index) => aRow(`M-${index}`)));
    await Promise.all(references.map((reference, index) => confirm(`M-${index}`, reference, index + 1)));
    const changed = ["417", "'UTR55A", "UTR7B8", "AX 9901", "88120.0", "077001"];
    const lines = changed.map((reference, index) => `M-${index},${reference},${index + 1},21/11/2026 12:00,UPI`);
    const path = aFile(HEADER, ...lines, "M-1,OTHER,2,21/11/2026 18:00,UPI", "M-2,OWN,7,21/11/2026 18:00,UPI");
    const { code, answer } = await reconcile(path, "--confirm-missing", "--yes", "--reason", "lost");
    expect({ code, answer }).toMatchObject({
      code: 6,
      answer: {
        counts: { ...NO_DIFFERENCES, referenceDiffers: 6, onlyYours: 2 },
        referenceDiffers: references.map((reference, index) => ({
          line: index + 2,
          loan: `M-${index}`,
          ours: { loan: `M-${index}`, reference },
          confirm: { method: "POST", path: `/api/v1/partner/cases/M-${index}/payments/confirm` },
        })),
        confirmed: { booked: 2, alreadyBooked: 0, refusedCount: 0 },
      },
    });
    expect(await stored()).toMatchObject({ bookings: 8 });
  });

  test("prints how to confirm a payment that it does not book", async () => {
    await lender.importCases([aRow("N-1")]);
    await confirm("N-1", "U1", 10);
    const path = aFile(HEADER, "N-1,U2,10,21/11/2026 18:00,UPI");
    const { stdout } = await cli(...args(path, "--confirm-missing", "--yes", "--reason", "lost"));
    expect(stdout).toContain("U2 (booked as U1)");
    expect(stdout).toContain(
      'line 2: POST /api/v1/partner/cases/N-1/payments/confirm {"amount":10.00,"reference":"U2","paidAt":"2026-11-21T12:30:00.000Z","mode":"UPI"}',
    );
    expect(await stored()).toMatchObject({ bookings: 1 });
  });

  test("never books a row outside the window, and names a misread date", async () => {
    await lender.importCases([aRow("O-1"), aRow("O-2")]);
    const path = aFile(HEADER, "O-1,U1,10,11/05/2026 12:00,UPI", "O-2,U2,20,06/11/2026 00:30,UPI");
    const command = ["payment", "reconcile", path, "--lender", lender.code, "--day", "2026-11-05"];
    const booking = [...command, "--confirm-missing", "--yes", "--reason", "lost"];
    const { code, stdout } = await cli(...booking);
    expect(code).toBe(6);
    expect(stdout).toContain(
      "line 2 was read as 2026-05-11, and 2026-11-05 would be in the window. Run the command again with the other --date-order",
    );
    expect(await stored()).toMatchObject({ bookings: 0 });
    const { stdout: json } = await cli(...command, "--json");
    expect(JSON.parse(json)).toMatchObject({
      counts: { ...NO_DIFFERENCES, outsideWindow: 1, otherDay: 1 },
      outsideWindow: [{ loan: "O-1", reference: "U1", yours: { paidAt: "2026-05-11T06:30:00.000Z" } }],
      otherDay: [{ loan: "O-2", reference: "U2" }],
    });
  });

  test("books no line of several with one reference and different amounts", async () => {
    await lender.importCases([aRow("P-1")]);
    const lines = ["P-1,U1,10,21/11/2026 12:00,UPI", "P-1,U1,15,21/11/2026 12:00,UPI", "P-1,U2,1,21/11/2026 12:00,UPI"];
    const path = aFile(HEADER, ...lines);
    const { code, answer } = await reconcile(path, "--confirm-missing", "--yes", "--reason", "lost");
    expect({ code, answer }).toMatchObject({
      code: 6,
      answer: {
        rejected: [
          {
            line: 2,
            errors: [{ code: "PARTS_NOT_CLEAR", detail: expect.stringMatching(/^Lines 2, 3 have the same/) }],
          },
          { line: 3, errors: [{ code: "PARTS_NOT_CLEAR" }] },
        ],
        confirmed: { booked: 1 },
      },
    });
    expect(await stored()).toMatchObject({ bookings: 1 });
  });

  test("books 100 times the owed amount only for a named line", async () => {
    await lender.importCases(["Q-1", "Q-2"].map((loan) => aRow(loan, { outstandingAmount: 50 })));
    const lines = ["Q-1,U1,5000,21/11/2026 12:00,UPI", "Q-2,U2,5000,21/11/2026 12:00,UPI"];
    const booking = args(aFile(HEADER, ...lines), "--confirm-missing", "--yes", "--reason", "lost");
    const { stdout } = await cli(...booking, "--amount-is-major-units", "3");
    expect(stdout).toContain("1 missing payment booked.");
    expect(stdout).toContain("line 2, Q-1, U1: AMOUNT_LOOKS_LIKE_MINOR_UNITS");
    expect(stdout).toContain("run the command again with --amount-is-major-units <line>.");
    expect((await lender.getCase("Q-2")).body).toMatchObject({ totalCollected: 5000 });
    expect(await cli(...args(aFile(HEADER), "--amount-is-major-units", "3"))).toMatchObject({ code: 2 });
  });

  test("books the rest after it was killed, each payment once", async () => {
    const indexes = Array.from({ length: 150 }, (_, index) => String(index).padStart(3, "0"));
    await lender.importCases(indexes.map((index) => aRow(`G-${index}`)));
    const path = aFile(HEADER, ...indexes.map((index) => `G-${index},U${index},10,21/11/2026 12:00,`));
    const command = args(path, "--confirm-missing", "--yes", "--reason", "lost");
    const locks = await holdLocks("select from cases.collection_case where source_loan_number = 'G-100' for update");
    await killWhileWaiting(...command);
    await locks.rollBack();
    expect(await stored()).toMatchObject({ bookings: 64, runs: 1 });
    const { code, answer } = await reconcile(path, "--confirm-missing", "--yes", "--reason", "lost");
    expect({ code, answer }).toMatchObject({ code: 0, answer: { confirmed: { booked: 86, alreadyBooked: 0 } } });
    expect((await reconcile(path)).answer).toMatchObject({ counts: { ...NO_DIFFERENCES, matched: 150 } });
  });
});

test("`payment reconciliations` lists runs, and `payment reconciliation` repeats one", async () => {
  const path = aFile(HEADER, ...(await confirmed(2, "L")));
  const { answer: first } = await reconcile(path);
  const { answer: second } = await reconcile(aFile(HEADER));
  const [firstId, secondId] = [String(first["runId"]), String(second["runId"])];
  const list = await cli.json("payment", "reconciliations", lender.code, "--limit", "1");
  expect(list).toMatchObject({ reconciliations: [{ runId: secondId, counts: { onlyOurs: 2 } }], nextCursor: secondId });
  const rest = await cli.json("payment", "reconciliations", lender.code, "--cursor", secondId);
  expect(rest).toMatchObject({ reconciliations: [{ runId: firstId, requestedBy: "operator" }], nextCursor: null });
  const { rejectedFile, file, ...shown } = first;
  expect({ rejectedFile, file }).toMatchObject({ rejectedFile: null, file: { rows: 2, headerLine: 1 } });
  expect(await cli.json("payment", "reconciliation", lender.code, firstId)).toEqual(shown);
  const { stdout } = await cli("payment", "reconciliations", lender.code);
  expect(stdout).toMatch(new RegExp(`${firstId} .* 2  +0`));
  const unknown = await cli("payment", "reconciliation", lender.code, `rec_${"0".repeat(32)}`, "--json");
  expect({ code: unknown.code, answer: JSON.parse(unknown.stdout) as object }).toMatchObject({
    code: 3,
    answer: { error: { code: "RECONCILIATION_NOT_FOUND" } },
  });
});

test("`payment reconcile` waits until another reconciliation of the lender has ended", async () => {
  const path = aFile(HEADER, ...(await confirmed(2, "K")));
  const running = await holdLocks(
    "select pg_advisory_xact_lock(hashtextextended('ledger.reconciliations/' || $1, 0))",
    [await lenderId()],
  );
  const ended = cli(...args(path, "--json"));
  // `commandsInProcess` replaces `write` by a mock.
  const printed = () =>
    vi.isMockFunction(process.stderr.write) ? vi.mocked(process.stderr.write).mock.calls.join("") : "";
  await expect.poll(printed).toContain("Waiting until it has ended.");
  expect(await stored()).toMatchObject({ runs: 0 });
  await running.rollBack();
  const { code, stderr } = await ended;
  expect({ code, stderr }).toEqual({
    code: 0,
    stderr: `Another reconciliation of ${lender.code} is running. Waiting until it has ended.\n`,
  });
});

test("`payment reconcile` leaves no rows of its run if it is killed", async () => {
  const lines = await confirmed(3, "H");
  const path = aFile(HEADER, ...lines, "H-1,UX,10,21/11/2026 12:00,");
  const locks = await holdLocks("lock table ledger.reconciliation_difference in exclusive mode");
  await killWhileWaiting(...args(path));
  await locks.rollBack();
  await expect.poll(stored).toMatchObject({ runs: 0, differences: 0, staged: 0, bookings: 3 });
  expect((await reconcile(path)).answer).toMatchObject({ counts: { matched: 3, onlyYours: 1 } });
});

test("`payment reconcile` compares all rows of a large file", async () => {
  const lines = await confirmed(5, "I");
  const others = Array.from({ length: 12_000 }, (_, index) => `X-${index},X${index},1,,`);
  const { answer } = await reconcile(aFile(HEADER, ...others.slice(0, 7_000), ...lines, ...others.slice(7_000)));
  expect(answer).toMatchObject({ counts: { ...NO_DIFFERENCES, matched: 5, onlyYours: 12_000 } });
  expect(answer["onlyYours"]).toHaveLength(10_000);
  expect(await stored()).toMatchObject({ differences: 12_000, staged: 0 });
});

test("`payment reconcile` of 20,000 missing payments ends twice, and confirms none without a time", async () => {
  const path = aFile(
    HEADER,
    ...(await confirmed(1, "T")),
    ...Array.from({ length: 20_000 }, (_, index) => `X-${index},X${index},1,,`),
  );
  const counts = { ...NO_DIFFERENCES, matched: 1, onlyYours: 20_000 };
  const first = await reconcile(path);
  expect(first).toMatchObject({ code: 6, answer: { counts, previous: null } });
  const again = await reconcile(path, "--confirm-missing", "--yes", "--reason", "lost");
  expect(again).toMatchObject({
    code: 6,
    answer: {
      counts,
      previous: { runId: first.answer["runId"], goneCount: 0 },
      confirmed: { booked: 0, alreadyBooked: 0, refusedCount: 20_000 },
    },
  });
  expect(await stored()).toMatchObject({ runs: 2, differences: 40_000, staged: 0, bookings: 1 });
});
