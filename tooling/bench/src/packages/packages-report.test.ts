import { expect, test } from "vitest";
import { spreadOf } from "../figures/statistics.ts";
import { QUICK_PLAN } from "../plan.ts";
import type { ProgramFigures, Row } from "./measured-row.ts";
import { packagesLines, packagesText } from "./packages-report.ts";
import type { PackagesReport } from "./packages.ts";

const plan = QUICK_PLAN.packages;

function program(name: string, perSecond: number, oursToIt: number): ProgramFigures {
  const spread = spreadOf([perSecond]);
  return {
    name,
    perSecond: spread,
    p50Ms: spreadOf([1.25]),
    p99Ms: undefined,
    processorUs: undefined,
    oursToIt: spreadOf([oursToIt]),
  };
}

function row(what: string, clients: number): Row {
  return { what, clients, programs: [program("ours", 3_000, 1), program("by hand", 2_000, 1.5)], othersBusy: 0.02 };
}

const latency = { p50: spreadOf([4]), p99: spreadOf([9]) };
const isolation = { idle: latency, besideSlow: latency, ratio: latency };
const report: PackagesReport = {
  ledgers: {
    postings: [row("postings", 1), row("postings", 8)],
    balances: [row("balances", 8)],
    sizes: [
      { name: "ours", bytesPerTransfer: 1_234.4 },
      { name: "by hand", bytesPerTransfer: 300 },
    ],
  },
  events: { commits: [row("commits", 8)], backlog: row("backlog", 1), latency: { ours: isolation, byHand: isolation } },
  signatures: [row("signatures", 1)],
};

test("packagesText shows each program with its rate, and our ratio to it", () => {
  const lines = packagesText(plan, report).split("\n");
  const postings = lines.filter((line) => line.startsWith("postings"));
  expect(postings.map((line) => line.split(/ {2,}/).slice(0, 4))).toEqual([
    ["postings", "1", "ours", "3,000 (3,000–3,000)"],
    ["postings", "8", "ours", "3,000 (3,000–3,000)"],
  ]);
  const rivals = lines.filter((line) => /^ +by hand/.test(line));
  expect(rivals).toHaveLength(6);
  expect(rivals[0]).toContain("1.50 (1.50–1.50)");
  expect(lines).toContain("ours                  1,234");
  expect(lines.at(-2)).toMatch(/^@collections\/webhooks .*4\.0 \(4\.0–4\.0\)/);
});

test("packagesLines has the rows with the most clients, one line for each rival", () => {
  const lines = packagesLines(plan, report);
  expect(lines.map(({ figure }) => figure)).toEqual([
    "postings, 8 clients",
    "balances, 8 clients",
    "commits, 8 clients",
    "backlog",
    "signatures",
    "commit to receipt, p50",
    "commit to receipt beside a slow endpoint, p50",
  ]);
  expect(lines[0]).toMatchObject({ ours: "3,000/s", beside: "by hand: 2,000/s", ratio: "1.50 (1.50–1.50)" });
});
