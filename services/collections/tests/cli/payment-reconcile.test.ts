import { parsePublicId } from "@collections/database";
import { actsOn } from "@collections/lenders";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { aRow } from "../fixtures/fixture.ts";
import { HEADER, NO_DIFFERENCES, paymentFiles } from "./fixtures/payment-files.ts";

const files = paymentFiles();
const { aFile, args, reconcile, confirm, confirmed, lenderId, stored, holdLocks, killWhileWaiting, folder } = files;

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
  expect((await files.lender.getCase("A-3")).body).toMatchObject({
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
  const acts = await actsOn(files.service.app.database.em(), await lenderId(), 3);
  expect(acts).toMatchObject([
    { act: "reconciliation.run", data: { file: "1.csv" } },
    { act: "reconciliation.confirmed", reason: "lost by the gateway", data: { booked: 1, refused: 0 } },
    { act: "reconciliation.confirm_started", reason: "lost by the gateway", data: { missing: 1 } },
  ]);
  const { rows } = await files.service.app.database.pool.query<{ digest: string }>(
    "select encode(digest, 'hex') as digest from ledger.reconciliation_run where id = $1",
    [parsePublicId("rec", String(fixed.answer["runId"]))],
  );
  expect(acts.slice(1).map(({ data }) => (data as { digest: string }).digest)).toEqual([
    rows[0]!.digest,
    rows[0]!.digest,
  ]);
});

test("`payment reconcile` prints counts, sums and lists as text", async () => {
  await files.lender.importCases(["B-1", "B-2", "B-3"].map((loan) => aRow(loan, { outstandingAmount: 90_000 })));
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
  const { code, stdout, stderr } = await files.cli(...args(path));
  expect(code).toBe(6);
  expect(stderr).toMatch(/UTR +reference\nAmount Paid +amount\n/);
  expect(stdout.replace(/rec_[0-9a-f]{32}/, "rec_…")).toBe(
    `Payments of ${files.lender.code} from 2026-11-21 00:00:00 Asia/Kolkata (2026-11-20T18:30:00.000Z) to 2026-11-22 00:00:00 Asia/Kolkata (2026-11-21T18:30:00.000Z):
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

test("`payment reconcile` takes a window in local time by --from and --to", async () => {
  const lines = await confirmed(2, "D");
  const window = ["--from", "2026-11-21 12:00", "--to", "2026-11-21 12:01"];
  const command = ["payment", "reconcile", aFile(HEADER, ...lines), "--lender", files.lender.code, ...window, "--json"];
  const { code, stdout } = await files.cli(...command);
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
  const result = await files.cli("payment", "reconcile", path, "--lender", files.lender.code, ...options);
  expect(result, result.stderr).toMatchObject({ code });
  expect(await stored()).toMatchObject({ runs: 0 });
});

test("`payment reconcile` exits with 3 for an unknown file or lender", async () => {
  expect(await files.cli(...args(join(folder, "none.csv")))).toMatchObject({ code: 3 });
  const named = ["payment", "reconcile", aFile(HEADER), "--lender", "NOBODY", "--day", "2026-11-21"];
  expect(await files.cli(...named)).toMatchObject({ code: 3 });
});

test("`payment reconciliations` lists runs, and `payment reconciliation` repeats one", async () => {
  const path = aFile(HEADER, ...(await confirmed(2, "L")));
  const { answer: first } = await reconcile(path);
  const { answer: second } = await reconcile(aFile(HEADER));
  const [firstId, secondId] = [String(first["runId"]), String(second["runId"])];
  const list = await files.cli.json("payment", "reconciliations", files.lender.code, "--limit", "1");
  expect(list).toMatchObject({ reconciliations: [{ runId: secondId, counts: { onlyOurs: 2 } }], nextCursor: secondId });
  const rest = await files.cli.json("payment", "reconciliations", files.lender.code, "--cursor", secondId);
  expect(rest).toMatchObject({ reconciliations: [{ runId: firstId, requestedBy: "operator" }], nextCursor: null });
  const { rejectedFile, file, ...shown } = first;
  expect({ rejectedFile, file }).toMatchObject({ rejectedFile: null, file: { rows: 2, headerLine: 1 } });
  expect(await files.cli.json("payment", "reconciliation", files.lender.code, firstId)).toEqual(shown);
  const { stdout } = await files.cli("payment", "reconciliations", files.lender.code);
  expect(stdout).toMatch(new RegExp(`${firstId} .* 2  +0`));
  const unknown = await files.cli("payment", "reconciliation", files.lender.code, `rec_${"0".repeat(32)}`, "--json");
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
  const ended = files.cli(...args(path, "--json"));
  // `commandsInProcess` replaces `write` by a mock.
  const printed = () =>
    vi.isMockFunction(process.stderr.write) ? vi.mocked(process.stderr.write).mock.calls.join("") : "";
  await expect.poll(printed).toContain("Waiting until it has ended.");
  expect(await stored()).toMatchObject({ runs: 0 });
  await running.rollBack();
  const { code, stderr } = await ended;
  expect({ code, stderr }).toEqual({
    code: 0,
    stderr: `Another reconciliation of ${files.lender.code} is running. Waiting until it has ended.\n`,
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
