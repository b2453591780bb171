import { verifyBooks } from "@collections/flows";
import { describe, expect, test } from "vitest";
import { aRow } from "../fixtures/fixture.ts";
import { operatorsCli } from "../fixtures/processes.ts";
import { HEADER, NO_DIFFERENCES, paymentFiles } from "./fixtures/payment-files.ts";

const files = paymentFiles();
const { aFile, args, reconcile, confirm, confirmed, lenderId, stored, holdLocks, killWhileWaiting } = files;

describe("`payment reconcile --confirm-missing`", () => {
  test("without --yes shows the differences and books nothing if it cannot ask", async () => {
    await files.lender.importCases([aRow("E-1")]);
    const path = aFile(HEADER, "E-1,U1,10,21/11/2026 12:00,");
    const { code, stderr } = await files.cli(...args(path, "--confirm-missing", "--reason", "lost"));
    expect(code).toBe(1);
    expect(stderr).toContain("onlyYours         1");
    expect(stderr).toContain("No payment was booked. Add --yes to book the missing payments.");
    expect(await stored()).toMatchObject({ bookings: 0, runs: 1 });
  });

  test("reports the payments that a confirmation refuses, and books the others", async () => {
    await files.lender.importCases([aRow("F-1", { outstandingAmount: 50 })]);
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
    expect((await files.lender.getCase("F-1")).body).toMatchObject({ payments: [{ reference: "U1", mode: "other" }] });
  });

  test("never books a reference that is booked on another loan", async () => {
    await files.lender.importCases([aRow("J-1"), aRow("J-2")]);
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
    expect((await files.lender.getCase("J-2")).body).toMatchObject({ totalCollected: 20 });
  });

  test("never books a payment again whose reference was changed in the file", async () => {
    const references = ["00417", "UTR55A", "utr7b8", "AX9901", "88120", "77001"];
    await files.lender.importCases(references.map((_, index) => aRow(`M-${index}`)));
    await Promise.all(references.map((reference, index) => confirm(`M-${index}`, reference, index + 1)));
    const changed = ["417", "'UTR55A", "UTR7B8", "AX 9901", "88120.0", "077001"];
    // A formula cell is read as its text, so this line matches.
    await files.lender.importCases([aRow("M-6")]);
    await confirm("M-6", "00881", 7);
    const formula = 'M-6,"=""00881""",7,21/11/2026 12:00,UPI';
    const lines = changed.map((reference, index) => `M-${index},${reference},${index + 1},21/11/2026 12:00,UPI`);
    const path = aFile(HEADER, ...lines, formula, "M-1,OTHER,2,21/11/2026 18:00,UPI", "M-2,OWN,7,21/11/2026 18:00,UPI");
    const { code, answer } = await reconcile(path, "--confirm-missing", "--yes", "--reason", "lost");
    expect({ code, answer }).toMatchObject({
      code: 6,
      answer: {
        counts: { ...NO_DIFFERENCES, matched: 1, referenceDiffers: 6, onlyYours: 2 },
        referenceDiffers: references.map((reference, index) => ({
          line: index + 2,
          loan: `M-${index}`,
          ours: { loan: `M-${index}`, reference },
          confirm: { method: "POST", path: `/api/v1/partner/cases/M-${index}/payments/confirm` },
        })),
        confirmed: { booked: 2, alreadyBooked: 0, refusedCount: 0 },
      },
    });
    expect(await stored()).toMatchObject({ bookings: 9 });
  });

  test("prints how to confirm a payment that it does not book", async () => {
    await files.lender.importCases([aRow("N-1")]);
    await confirm("N-1", "U1", 10);
    const path = aFile(HEADER, "N-1,U2,10,21/11/2026 18:00,UPI");
    const { stdout } = await files.cli(...args(path, "--confirm-missing", "--yes", "--reason", "lost"));
    expect(stdout).toContain("U2 (booked as U1)");
    expect(stdout).toContain(
      'line 2: POST /api/v1/partner/cases/N-1/payments/confirm {"amount":10.00,"reference":"U2","paidAt":"2026-11-21T12:30:00.000Z","mode":"UPI"}',
    );
    expect(await stored()).toMatchObject({ bookings: 1 });
  });

  test("never books a row outside the window, and names a misread date", async () => {
    await files.lender.importCases([aRow("O-1"), aRow("O-2")]);
    const path = aFile(HEADER, "O-1,U1,10,11/05/2026 12:00,UPI", "O-2,U2,20,06/11/2026 00:30,UPI");
    const command = ["payment", "reconcile", path, "--lender", files.lender.code, "--day", "2026-11-05"];
    const booking = [...command, "--confirm-missing", "--yes", "--reason", "lost"];
    const { code, stdout } = await files.cli(...booking);
    expect(code).toBe(6);
    expect(stdout).toContain(
      "line 2 was read as 2026-05-11, and 2026-11-05 would be in the window. Run the command again with the other --date-order",
    );
    expect(await stored()).toMatchObject({ bookings: 0 });
    const { stdout: json } = await files.cli(...command, "--json");
    expect(JSON.parse(json)).toMatchObject({
      counts: { ...NO_DIFFERENCES, outsideWindow: 1, otherDay: 1 },
      outsideWindow: [{ loan: "O-1", reference: "U1", yours: { paidAt: "2026-05-11T06:30:00.000Z" } }],
      otherDay: [{ loan: "O-2", reference: "U2" }],
    });
  });

  test("books no line of several with one reference and different amounts", async () => {
    await files.lender.importCases([aRow("P-1")]);
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
    await files.lender.importCases(["Q-1", "Q-2"].map((loan) => aRow(loan, { outstandingAmount: 50 })));
    const lines = ["Q-1,U1,5000,21/11/2026 12:00,UPI", "Q-2,U2,5000,21/11/2026 12:00,UPI"];
    const booking = args(aFile(HEADER, ...lines), "--confirm-missing", "--yes", "--reason", "lost");
    const { stdout } = await files.cli(...booking, "--amount-is-major-units", "3");
    expect(stdout).toContain("1 missing payment booked.");
    expect(stdout).toContain("line 2, Q-1, U1: AMOUNT_LOOKS_LIKE_MINOR_UNITS");
    expect(stdout).toContain("run the command again with --amount-is-major-units <line>.");
    expect((await files.lender.getCase("Q-2")).body).toMatchObject({ totalCollected: 5000 });
    expect(await files.cli(...args(aFile(HEADER), "--amount-is-major-units", "3"))).toMatchObject({ code: 2 });
  });

  test.each([
    ["before the first page", "000", 0],
    ["after the first page", "100", 64],
    ["after the second page", "140", 128],
  ])("books the rest after it was killed %s, each payment once", async (_when, locked, booked) => {
    const indexes = Array.from({ length: 150 }, (_, index) => String(index).padStart(3, "0"));
    await files.lender.importCases(indexes.map((index) => aRow(`G-${index}`)));
    const path = aFile(HEADER, ...indexes.map((index) => `G-${index},U${index},10,21/11/2026 12:00,`));
    const command = args(path, "--confirm-missing", "--yes", "--reason", "lost");
    const locks = await holdLocks(
      "select from cases.collection_case where lender_id = $1 and source_loan_number = $2 for update",
      [await lenderId(), `G-${locked}`],
    );
    await killWhileWaiting(...command);
    await locks.rollBack();
    expect(await stored()).toMatchObject({ bookings: booked, runs: 1 });
    const { code, answer } = await reconcile(path, "--confirm-missing", "--yes", "--reason", "lost");
    expect({ code, answer }).toMatchObject({
      code: 0,
      answer: { confirmed: { booked: 150 - booked, alreadyBooked: 0 } },
    });
    expect((await reconcile(path)).answer).toMatchObject({ counts: { ...NO_DIFFERENCES, matched: 150 } });
    expect(await stored()).toMatchObject({ bookings: 150 });
  });

  test("books each payment once beside another command and the lender", async () => {
    const indexes = Array.from({ length: 130 }, (_, index) => index);
    await files.lender.importCases(indexes.map((index) => aRow(`H-${index}`)));
    const path = aFile(HEADER, ...indexes.map((index) => `H-${index},U${index},10,21/11/2026 12:00,UPI`));
    const booking = args(path, "--confirm-missing", "--yes", "--reason", "lost", "--json");
    const others = operatorsCli({ DATABASE_URL: files.service.databaseUrl });
    const paidAt = "2026-11-21T06:30:00Z";
    const commands = [others(...booking), others(...booking)];
    await expect.poll(async () => (await stored())["runs"]).toBeGreaterThan(0);
    const own = await Promise.all(
      indexes.map((index) =>
        files.lender.confirm(`H-${index}`, { amount: 10, reference: `U${index}`, paidAt, mode: "upi" }),
      ),
    );
    const ended = await Promise.all(commands);
    expect(ended.map(({ code }) => code)).toEqual([0, 0]);
    expect(own.filter(({ status }) => status !== 200 && status !== 409)).toEqual([]);
    const confirmed = ended.map(({ stdout }) => (JSON.parse(stdout) as { confirmed?: { booked: number } }).confirmed);
    const byCommands = confirmed.reduce((sum, one) => sum + (one?.booked ?? 0), 0);
    expect(byCommands + own.filter(({ status }) => status === 200).length).toBe(130);
    expect(await stored()).toMatchObject({ bookings: 130 });
    const books = await verifyBooks(files.service.app.database.em(), { lenderId: await lenderId(), now: new Date() });
    expect(books.problems).toEqual([]);
  });
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
