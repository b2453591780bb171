import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/**
 * Runs the rules of axe-core on the page as it is now. Returns a text for each element that violates a rule: the rule,
 * the element and what is wrong. The array is empty if axe finds nothing.
 *
 * @param rules the ids of the rules to run; by default all rules, those of best practice included
 */
export async function accessibilityFindings(page: Page, rules?: readonly string[]): Promise<string[]> {
  // The script is evaluated by the debugger, so the page's Content-Security-Policy does not apply to it.
  await page.evaluate(AXE);
  const options = { resultTypes: ["violations"], ...(rules && { runOnly: rules }) };
  return page.evaluate<string[]>(`axe.run(document, ${JSON.stringify(options)}).then(({ violations }) =>
    violations.flatMap(({ id, nodes }) =>
      nodes.map(({ target, failureSummary }) => id + ": " + target.join(" ") + ": " + failureSummary)))`);
}
