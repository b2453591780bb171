import { describe, expect, test } from "vitest";
import { aRow } from "../fixtures/fixture.ts";
import { DAY, PATH, reconcilingLender, reported } from "./fixtures/reconciling-lender.ts";

const own = reconcilingLender();
const { reconcile, confirm, storedRuns } = own;

test.each([
  ["a window that ends before it begins", { from: DAY.to, to: DAY.from }, "INVALID_DATE"],
  ["an empty window", { from: DAY.from, to: DAY.from }, "INVALID_DATE"],
  ["a window of more than 32 days", { from: "2026-10-01T00:00:00Z", to: "2026-11-02T00:00:00.001Z" }, "INVALID_DATE"],
  ["a window without a zone", { from: "2026-11-20T18:30:00", to: DAY.to }, "NOT_UTC"],
  ["no window", { from: undefined }, "REQUIRED"],
  ["rows that are not an array", { rows: {} }, "WRONG_TYPE"],
])("a reconciliation with %s is refused, and no run is stored", async (_what, fields, code) => {
  const { status, body } = await own.lender.call("POST", PATH, { ...DAY, rows: [], ...fields });
  expect({ status, code: body["code"] }).toEqual({ status: 422, code });
  expect(await storedRuns()).toEqual({ runs: 0, staged: 0 });
});

test("a reconciliation may have a window that ends in the future", async () => {
  expect(await reconcile([], { from: "2026-11-20T18:30:00Z", to: "2026-12-20T18:30:00Z" })).toMatchObject({
    clean: true,
  });
});

describe("the limit of rows in a reconciliation", () => {
  const rows = Array.from({ length: 10_001 }, (_, index) => reported("A", `utr_${index}`, 1));

  test("10,000 rows are compared", async () => {
    await own.lender.importCases([aRow("A")]);
    await confirm("A", "utr_77", 1);
    const answer = await reconcile(rows.slice(0, 10_000));
    expect(answer.counts).toMatchObject({ matched: 1, onlyYours: 9_999 });
    expect(answer.onlyYours).toHaveLength(9_999);
    expect(await storedRuns()).toEqual({ runs: 1, staged: 0 });
  });

  test("10,001 rows are refused with TOO_MANY_ROWS, and no run is stored", async () => {
    const { status, body } = await own.lender.call("POST", PATH, { ...DAY, rows });
    expect({ status, code: body["code"] }).toEqual({ status: 422, code: "TOO_MANY_ROWS" });
    expect(await storedRuns()).toEqual({ runs: 0, staged: 0 });
  });
});
