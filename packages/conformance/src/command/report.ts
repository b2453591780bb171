import type { CheckResult } from "../checks/check.ts";
import { tally } from "../checks/run.ts";

/**
 * The results of a whole run. Secrets are masked in all its texts.
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
  /** The tested URLs, without their query, which may contain a token. */
  readonly urls: Readonly<Partial<Record<"receiver" | "mint" | "reconcile" | "state", string>>>;
  readonly results: readonly CheckResult[];
}

/**
 * Returns the JSON document of `--json`. Later versions may add fields.
 *
 * @example
 * await writeFile("conformance.json", reportAsJson(report));
 */
export function reportAsJson({ startedAt, durationMs, urls, results }: Report): string {
  const summary = tally(results);
  const document = { passed: summary.FAIL === 0, startedAt: startedAt.toISOString(), durationMs, urls, summary };
  return `${JSON.stringify({ ...document, checks: results }, null, 2)}\n`;
}

/** Returns the last lines of the text report: the counts, and what was not checked. */
export function summaryAsText({ results, urls }: Report): string {
  const { PASS, FAIL, WARN, SKIPPED } = tally(results);
  const counts = `${PASS} passed, ${FAIL} failed, ${WARN} with a warning, ${SKIPPED} skipped\n`;
  return urls.state === undefined ? `\n${counts}${ONLY_ANSWERS}` : `\n${counts}`;
}

const ONLY_ANSWERS =
  "Only answers were checked. Use --state to also check that a duplicate counts once and that a link has its exact amount.\n";
