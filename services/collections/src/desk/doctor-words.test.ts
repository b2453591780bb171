import { readFile } from "node:fs/promises";
import type { WebhookProblem } from "@collections/webhooks";
import { expect, test } from "vitest";
import {
  PROBLEM_CODES,
  problemOfJobs,
  problemOfWebhooks,
  problemsOfAnchors,
  problemsOfCluster,
  problemsOfTables,
} from "./doctor-words.ts";

test("docs/operations.md explains every problem code of doctor", async () => {
  const runbook = await readFile(new URL("../../../../docs/operations.md", import.meta.url), "utf8");
  const section = runbook.slice(runbook.indexOf("**`doctor` finds something.**"));
  for (const code of PROBLEM_CODES) expect(section).toContain(`\`${code}\``);
});

test("a problem of doctor shows the lender code instead of the lender id, also in its remedy", () => {
  const problem: WebhookProblem = {
    severity: "warning",
    code: "SUSPENDED",
    tenantId: "01890000-0000-7000-8000-000000000001",
    lenderId: "01890000-0000-7000-8000-000000000001",
    count: 3,
    eventId: null,
    since: null,
    detail: "Suspended.",
  };
  const found = problemOfWebhooks(problem, new Map([[problem.tenantId!, "ACME"]]));
  expect(found).toMatchObject({ lenderCode: "ACME", remedy: expect.stringContaining("endpoint probe ACME") as string });
});

test("reports failed jobs as a fault, and jobs that are retried as a warning", () => {
  const jobs = { queue: "webhooks.alert", count: 2, attempts: 31, lastError: "The mail server refused." };
  expect(problemOfJobs({ ...jobs, state: "failed" })).toMatchObject({
    severity: "fault",
    code: "JOBS_FAILED",
    detail:
      "2 jobs of webhooks.alert have failed for good, after at most 31 attempts. Last error: The mail server refused.",
    remedy: expect.stringContaining("SMTP_URL") as string,
  });
  expect(problemOfJobs({ ...jobs, state: "retrying", lastError: null })).toMatchObject({
    severity: "warning",
    code: "JOBS_RETRYING",
    detail: "2 jobs of webhooks.alert have failed up to 31 times and are tried again.",
  });
});

const NOW = new Date("2026-11-22T18:00:00Z");
const minutesAgo = (minutes: number) => new Date(NOW.getTime() - minutes * 60_000);
const place = { kind: "file", path: "/var/lib/anchors.jsonl" } as const;

test.each([
  ["all blocks are anchored", false, place, { anchoredAt: minutesAgo(600), unanchoredSince: null }, undefined],
  ["a block waits for the next anchor", false, place, { anchoredAt: null, unanchoredSince: minutesAgo(19) }, undefined],
  ["a sandbox keeps no anchors", true, undefined, { anchoredAt: null, unanchoredSince: minutesAgo(600) }, undefined],
  [
    "a production keeps no anchors",
    false,
    undefined,
    { anchoredAt: null, unanchoredSince: minutesAgo(1) },
    "warning ANCHORS_NOT_SET",
  ],
  [
    "the last anchoring failed",
    true,
    place,
    { anchoredAt: minutesAgo(60), unanchoredSince: minutesAgo(20) },
    "fault ANCHORS_OVERDUE",
  ],
  [
    "the first anchoring failed",
    false,
    place,
    { anchoredAt: null, unanchoredSince: minutesAgo(20) },
    "fault ANCHORS_OVERDUE",
  ],
  [
    "anchors are not kept any more",
    false,
    undefined,
    { anchoredAt: minutesAgo(60), unanchoredSince: minutesAgo(20) },
    "warning ANCHORS_OVERDUE",
  ],
])(
  "reports an anchor problem only if anchoring is overdue or not set up: %s",
  (_, isSandbox, ledgerAnchor, state, expected) => {
    const config = { isSandbox, ledgerAnchor, ledgerAnchorIntervalMs: 300_000 };
    const [problem] = problemsOfAnchors(state, config, NOW);
    expect(problem && `${problem.severity} ${problem.code}`).toBe(expected);
  },
);

test("finds no problem in a healthy cluster", () => {
  expect(problemsOfCluster({ away: [], prepared: [] })).toEqual([]);
  expect(problemsOfTables([])).toEqual([]);
});

test("reports each node that does not answer as a fault", () => {
  const found = problemsOfCluster({ away: ["db-2:5432", "db-3:5432"], prepared: [] });
  expect(found.map(({ severity, code }) => `${severity} ${code}`)).toEqual(["fault NODE_AWAY", "fault NODE_AWAY"]);
  expect(found[0]!.detail).toContain("db-2:5432 does not answer");
});

test("reports prepared transactions as one fault per node, with the time of the oldest", () => {
  const at = (minute: number) => new Date(Date.UTC(2026, 10, 23, 9, minute));
  const prepared = [
    { node: "db-2:5432", gid: "citus_0_1_2_3", preparedAt: at(1) },
    { node: "db-2:5432", gid: "citus_0_1_2_4", preparedAt: at(2) },
    { node: "db-3:5432", gid: "citus_0_1_2_5", preparedAt: at(3) },
  ];
  const found = problemsOfCluster({ away: [], prepared });
  expect(found).toMatchObject([
    { code: "TRANSACTION_PREPARED", severity: "fault", count: 2, since: at(1) },
    { code: "TRANSACTION_PREPARED", severity: "fault", count: 1, since: at(3) },
  ]);
  expect(found[0]!.detail).toContain("the oldest since 2026-11-23T09:01:00.000Z (citus_0_1_2_3)");
  expect(found[0]!.remedy).toContain("recover_prepared_transactions()");
});

test("reports all remaining steps of migrate --distribute as one fault", () => {
  expect(problemsOfTables(["missing: select create_reference_table('a.b')", "c.d is elsewhere"])).toMatchObject([
    { code: "TABLES_NOT_DISTRIBUTED", severity: "fault", count: 2, lenderCode: null },
  ]);
});
