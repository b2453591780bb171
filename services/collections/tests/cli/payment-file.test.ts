import { readFileSync, writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { aRow } from "../fixtures/fixture.ts";
import { HEADER, paymentFiles } from "./fixtures/payment-files.ts";

const files = paymentFiles();
const { aFile, args, reconcile, stored } = files;

test("`payment reconcile --paid-time` sets the time of cells with a date", async () => {
  await files.lender.importCases([aRow("C-1")]);
  const path = aFile(HEADER, "C-1,U1,10,21/11/2026,");
  const { answer } = await reconcile(path, "--paid-time", "12:00");
  expect(answer).toMatchObject({ onlyYours: [{ yours: { paidAt: "2026-11-21T06:30:00.000Z" } }] });
});

test.each([
  ["a time among other times", ["21/11/2026 00:00:00", "21/11/2026 12:30"], { onlyYours: 2, rejected: 0 }],
  ["a date if every cell has it", ["21/11/2026 00:00:00", "2026-11-20T18:30:00Z"], { onlyYours: 0, rejected: 2 }],
])("`payment reconcile` reads midnight as %s", async (_what, times, counts) => {
  await files.lender.importCases([aRow("R-1")]);
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
    await files.lender.importCases([aRow("S-1")]);
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
    const { code, stderr } = await files.cli(...args(path));
    expect({ code, stderr }).toMatchObject({ code: 1, stderr: expect.stringContaining('--map "Kind=direction"') });
    expect(await stored()).toMatchObject({ runs: 0 });
    expect((await reconcile(path, "--map", "Kind=direction")).answer).toMatchObject({ counts: { rejected: 2 } });
    expect((await reconcile(path, "--map", "Kind=-")).answer).toMatchObject({ counts: { onlyYours: 4 } });
  });
});

test("`payment reconcile` writes rejected rows with their reasons to a file", async () => {
  await files.lender.importCases([aRow("T-1")]);
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
