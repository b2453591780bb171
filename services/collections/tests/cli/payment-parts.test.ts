import { actsOn } from "@collections/lenders";
import { beforeEach, describe, expect, test } from "vitest";
import { aRow } from "../fixtures/fixture.ts";
import { HEADER, paymentFiles } from "./fixtures/payment-files.ts";

const files = paymentFiles();
const { aFile, args, reconcile, lenderId, stored } = files;

describe("`payment reconcile` with several lines of one reference", () => {
  const lines = [
    "Q-1,U1,10.5,21/11/2026 12:00,NEFT",
    "Q-1,U2,7,21/11/2026 12:00,UPI",
    "Q-1,U1,15.25,21/11/2026 13:00,UPI",
    "Q-1,U1,10.5,21/11/2026 14:00,UPI",
  ];

  beforeEach(async () => {
    await files.lender.importCases([aRow("Q-1")]);
  });

  test("names the option that sums them", async () => {
    const { stdout } = await files.cli(...args(aFile(HEADER, ...lines)));
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
    expect((await files.lender.getCase("Q-1")).body).toMatchObject({ totalCollected: 43.25 });
    expect(await actsOn(files.service.app.database.em(), await lenderId(), 1)).toMatchObject([
      { data: { parts: [4] } },
    ]);
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
    const { code, stderr } = await files.cli(...args(aFile(HEADER, ...lines), "--parts", "9", "--json"));
    expect({ code, stderr }).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("no readable payment in line 9"),
    });
    expect(await stored()).toMatchObject({ runs: 0 });
  });
});
