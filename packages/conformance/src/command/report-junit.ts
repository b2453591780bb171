import type { CheckResult } from "../checks/check.ts";
import type { Report } from "./report.ts";
import { tally } from "../checks/run.ts";

/**
 * Returns the report as JUnit XML for CI systems, with a suite per endpoint and a test per check. A warning becomes a
 * passed test with output.
 *
 * @example
 * await writeFile("conformance.xml", reportAsJunit(report));
 */
export function reportAsJunit(report: Report): string {
  const suites = (["receiver", "mint", "reconcile"] as const)
    .map((endpoint) => ({ endpoint, results: report.results.filter(({ name }) => name.startsWith(`${endpoint}.`)) }))
    .filter(({ results }) => results.length > 0)
    .map(({ endpoint, results }) => suite(endpoint, results, report.startedAt));
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="conformance" ${countsOf(report.results)}>\n${suites.join("")}</testsuites>\n`;
}

function suite(endpoint: string, results: readonly CheckResult[], startedAt: Date): string {
  const attributes = `name="${endpoint}" timestamp="${startedAt.toISOString()}" ${countsOf(results)}`;
  return `  <testsuite ${attributes}>\n${results.map(testcase).join("")}  </testsuite>\n`;
}

function testcase(result: CheckResult): string {
  const [endpoint = "", name = ""] = result.name.split(".");
  const attributes = `classname="${endpoint}" name="${escaped(`${name}: ${result.title}`)}" time="${seconds(result.durationMs)}"`;
  return `    <testcase ${attributes}>${contentOf(result)}</testcase>\n`;
}

function contentOf({ verdict, skipped, findings, ...result }: CheckResult): string {
  if (skipped !== null) return `<skipped message="${escaped(skipped)}"/>`;
  if (verdict === "PASS") return "";
  const lines = findings.flatMap(({ problem, mend }) => [`Problem: ${problem}`, `Fix: ${mend}`]);
  const text = [`Sent: ${result.sent}`, `Came back: ${result.cameBack}`, ...lines, `Why: ${result.why}`].join("\n");
  if (verdict === "WARN") return `<system-out>${escaped(text)}</system-out>`;
  const message = findings.find(({ level }) => level === "FAIL")?.problem ?? "";
  return `<failure message="${escaped(message)}" type="${result.name}">${escaped(text)}</failure>`;
}

function countsOf(results: readonly CheckResult[]): string {
  const { FAIL, SKIPPED } = tally(results);
  const durationMs = results.reduce((sum, result) => sum + result.durationMs, 0);
  return `tests="${results.length}" failures="${FAIL}" errors="0" skipped="${SKIPPED}" time="${seconds(durationMs)}"`;
}

function seconds(durationMs: number): string {
  return (durationMs / 1000).toFixed(3);
}

const ENTITIES: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

/** Escapes text for an attribute. Removes characters that XML 1.0 does not allow, and keeps line breaks. */
function escaped(text: string): string {
  return text
    .toWellFormed()
    .replaceAll(/[^\t\n\r\u{20}-\u{D7FF}\u{E000}-\u{FFFD}\u{10000}-\u{10FFFF}]/gu, "")
    .replaceAll(/[&<>"]/g, (character) => ENTITIES[character]!)
    .replaceAll("\n", "&#10;");
}
