import { expect, test } from "vitest";
import { atLeast, ratioLine } from "./figures/line.ts";
import { summaryText } from "./summary.ts";

const machine = {
  processors: 2,
  model: "Some CPU",
  memoryGiB: 8,
  platform: "linux x64",
  node: "24.0.0",
  postgres: "18.4",
  fsyncUs: 84.3,
  loadBefore: 0,
};

test("the table of all subjects marks a figure that misses its aim", () => {
  const figure = { figure: "32 clients", ours: "400/s", beside: "one statement: 800/s", rounds: 5 };
  const line = ratioLine({ ...figure, ratio: { median: 0.5, min: 0.4, max: 0.61 } }, (ratio) => atLeast(0.8, ratio));
  const rows = summaryText(machine, [{ subject: "confirmations", lines: [line], loadBefore: 1.25 }]).split("\n");
  const cells = rows.find((row) => row.includes("32 clients"))!.split("|");
  expect(cells.map((cell) => cell.trim())).toEqual([
    "",
    "confirmations",
    "32 clients",
    "400/s",
    "one statement: 800/s",
    "0.50 (0.40–0.61)",
    "5",
    "≥ 0.8, missed",
    "1.3",
    "",
  ]);
});
