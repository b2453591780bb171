import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { ROOT } from "../src/bundle.ts";

const FOLDER = join(ROOT, "deploy/prometheus");
const rules = readFileSync(join(FOLDER, "alerts.yaml"), "utf8");
const ruleTests = readFileSync(join(FOLDER, "alerts.test.yaml"), "utf8");

test("promtool accepts the alert rules", () => {
  expect(promtool("check", "rules", join(FOLDER, "alerts.yaml"))).toMatchObject({ status: 0 });
});

test("each alert fires and stays quiet as alerts.test.yaml says", () => {
  expect(promtool("test", "rules", join(FOLDER, "alerts.test.yaml"))).toMatchObject({ status: 0, stderr: "" });
});

test("alerts.test.yaml shows each alert once firing and once quiet", () => {
  const alerts = Array.from(rules.matchAll(/- alert: (\w+)/g), ([, name]) => name!);
  expect(alerts.length).toBeGreaterThan(12);
  const cases = ruleTests.split(/^ {2}- name: /m).slice(1);
  const shown = cases.map(
    (text) => `${/alertname: (\w+)/.exec(text)![1]} ${text.includes("exp_alerts: []") ? "quiet" : "fires"}`,
  );
  expect(shown).toEqual(alerts.flatMap((name) => [`${name} fires`, `${name} quiet`]));
});

test("promtool fails if an alert no longer fires when it should", () => {
  const folder = mkdtempSync(join(tmpdir(), "collections-alerts-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const higher = rules.replace("> 0.02", "> 0.9");
  expect(higher).not.toBe(rules);
  writeFileSync(join(folder, "alerts.yaml"), higher);
  writeFileSync(join(folder, "alerts.test.yaml"), ruleTests);
  const { status, stdout, stderr } = promtool("test", "rules", join(folder, "alerts.test.yaml"));
  expect({ status, output: stdout + stderr }).toEqual({
    status: 1,
    output: expect.stringContaining("CollectionsServerErrors fires") as string,
  });
});

function promtool(...args: string[]) {
  return spawnSync("promtool", args, { encoding: "utf8" });
}
