import { readFile } from "node:fs/promises";
import { beforeAll, describe, expect, test } from "vitest";
import { startTestService } from "../fixtures/fixture.ts";
import { type KnownSeries, seriesOf, unknownIn } from "./fixtures/metric-names.ts";

const [alerts, dashboardText, runbook] = await Promise.all(
  ["deploy/prometheus/alerts.yaml", "deploy/grafana/collections.json", "docs/operations.md"].map((path) =>
    readFile(new URL(`../../../../${path}`, import.meta.url), "utf8"),
  ),
);
const dashboard = JSON.parse(dashboardText!) as Dashboard;
const rules = alerts!.split(/^ +- alert: /m).slice(1);

let known: KnownSeries;

beforeAll(async () => {
  const service = await startTestService();
  known = seriesOf(service.app.metrics.registry);
  const text = await (await fetch(`${service.url}/metrics`)).text();
  const served = Array.from(text.matchAll(/^# TYPE (\w+) (\w+)$/gm), ([, name, type]) =>
    type === "histogram" ? `${name}_bucket` : name!,
  );
  // Fail if the service serves another registry than the one that these tests read.
  if (!served.every((name) => known.has(name)))
    throw new Error(`/metrics has more metrics than the registry: ${served.join(", ")}`);
});

describe("unknownIn", () => {
  test.each([
    ["sum(rate(collections_confirmation_total[5m]))", ["There is no metric collections_confirmation_total."]],
    ['nodejs_lag_seconds{job="collections"} > 1', ["There is no metric nodejs_lag_seconds."]],
    ['collections_sign_in_total{stage="verify"}', ["collections_sign_in_total has no label stage."]],
    [
      'sum by (lender) (collections_webhook_backlog{state="parked"})',
      ["No metric of the expression has the label lender."],
    ],
    [
      'collections_http_request_duration_seconds{status="200"}',
      ["There is no metric collections_http_request_duration_seconds."],
    ],
  ])("names the metric or the label that does not exist in %s", (expression, problems) => {
    expect(unknownIn(expression, known)).toEqual(problems);
  });

  test("accepts a histogram's series, grouping, and the labels that Prometheus adds", () => {
    const rate = 'rate(collections_http_request_duration_seconds_bucket{job="x", endpoint="confirm"}[5m])';
    expect(unknownIn(`histogram_quantile(0.99, sum by (le, instance) (${rate})) > 1 and on () up == 1`, known)).toEqual(
      [],
    );
  });
});

describe("deploy/prometheus/alerts.yaml", () => {
  test("uses only metrics and labels that the service serves", () => {
    const expressions = rules.map((rule) => /expr: (.+)/.exec(rule)![1]!);
    expect(expressions.flatMap((expression) => unknownIn(expression, known))).toEqual([]);
    expect(expressions.length).toBeGreaterThan(12);
  });

  test("gives each alert a severity, a summary, and a section of docs/operations.md that exists", () => {
    const anchors = new Set(Array.from(runbook!.matchAll(/^#+ (.+)$/gm), ([, heading]) => anchorOf(heading!)));
    for (const rule of rules) {
      expect(rule).toMatch(/severity: (?:critical|warning)\n/);
      expect(rule).toMatch(/summary: \S.+\.\n/);
      expect([...anchors]).toContain(/description: .*docs\/operations\.md#([\w-]+)/.exec(rule)?.[1]);
    }
  });
});

describe("deploy/grafana/collections.json", () => {
  test("uses only metrics and labels that the service serves", () => {
    const expressions = dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
    expect(expressions.flatMap((expression) => unknownIn(expression, known))).toEqual([]);
    expect(expressions.length).toBeGreaterThan(12);
  });

  test("has an id, a schema version, and panels with a title and a place of their own", () => {
    expect(dashboard).toMatchObject({ uid: "partner-collections", schemaVersion: 39, title: "Partner Collections" });
    const { panels } = dashboard;
    const places = panels.map(({ gridPos: { x, y } }) => `${x} ${y}`);
    expect(new Set(places).size).toBe(panels.length);
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    for (const { title, gridPos } of panels) {
      expect(title).not.toBe("");
      expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(24);
    }
  });
});

describe("What to watch in docs/operations.md", () => {
  const section = runbook!.split("## What to watch\n")[1]!.split("\n## ")[0]!;

  test("lists the labels that each metric has", () => {
    const rows = [...section.matchAll(/^\| `(collections_\w+)` +\| ([`\w, ]*?) *\|/gm)];
    const listed = rows.map(([, name, labels]) => [name!, labels!.match(/\w+/g) ?? []] as const);
    const actual = listed.map(([name]) => [name, labelsOf(name)] as const);
    expect(Object.fromEntries(listed)).toEqual(Object.fromEntries(actual));
    expect(rows.length).toBeGreaterThan(12);
  });

  test("names only metrics and labels that the service serves in the conditions of alerts", () => {
    const written = Array.from(
      section.split("Set alerts for these conditions")[1]!.matchAll(/`([^`]+)`/g),
      ([, text]) => text!,
    );
    const expressions = written.filter((text) => /^(?:collections|process|nodejs)_/.test(text));
    expect(expressions.flatMap((expression) => unknownIn(expression, known))).toEqual([]);
    expect(expressions.length).toBeGreaterThan(8);
  });
});

/** Returns the labels that the service gives a metric, in their order. */
function labelsOf(name: string): string[] {
  const labels = known.get(name) ?? known.get(`${name}_count`) ?? [];
  return [...labels].filter((label) => !["job", "instance"].includes(label));
}

interface Dashboard {
  readonly panels: readonly {
    readonly id: number;
    readonly title: string;
    readonly gridPos: { readonly x: number; readonly y: number; readonly w: number };
    readonly targets: readonly { readonly expr: string }[];
  }[];
}

/** Returns the anchor that GitHub makes for a heading. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
    .replaceAll(" ", "-");
}
