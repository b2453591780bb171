import type { CheckResult } from "../checks/check.ts";
import { tally } from "../checks/run.ts";

/**
 * A whole run, for the reports. No text in it has a secret.
 *
 * @example
 * const startedAt = new Date();
 * const results = await runChecks(settings, chosenChecks(settings, []), listener);
 * const urls = { receiver: "http://localhost:4000/hooks/collections" };
 * const report: Report = { startedAt, durationMs: Date.now() - startedAt.getTime(), urls, results };
 */
export interface Report {
  readonly startedAt: Date;
  readonly durationMs: number;
  /** Without query, which may hold a token. */
  readonly urls: Readonly<Partial<Record<"receiver" | "mint" | "state", string>>>;
  readonly results: readonly CheckResult[];
}

/**
 * The document of `--json`. Fields may be added.
 *
 * @example
 * await writeFile("conformance.json", reportAsJson(report));
 */
export function reportAsJson({ startedAt, durationMs, urls, results }: Report): string {
  const summary = tally(results);
  const document = { passed: summary.FAIL === 0, startedAt: startedAt.toISOString(), durationMs, urls, summary };
  return `${JSON.stringify({ ...document, checks: results }, null, 2)}\n`;
}

/** The end of the report for people: the counts, and what could not be seen. */
export function summaryInWords({ results, urls }: Report): string {
  const { PASS, FAIL, WARN, SKIPPED } = tally(results);
  const counts = `${PASS} passed, ${FAIL} failed, ${WARN} with a warning, ${SKIPPED} skipped\n`;
  return urls.state === undefined ? `\n${counts}${ONLY_ANSWERS}` : `\n${counts}`;
}

const ONLY_ANSWERS =
  "Only answers were checked. Whether a duplicate was counted once, or a link is for its exact amount, shows with --state.\n";
