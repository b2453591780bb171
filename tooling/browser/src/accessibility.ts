import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/**
 * Runs the rules of axe-core on the page as it is now, those of best practice included. Returns a text for each element
 * that violates a rule: the rule, the element and what is wrong. The array is empty if axe finds nothing.
 *
 * @param passed if given, `color-contrast` runs as in `contrastFindings`, and the other rules run on the whole page
 */
export async function accessibilityFindings(page: Page, passed?: Set<string>): Promise<string[]> {
  const { violations } = await run(page, passed ? { rules: { "color-contrast": { enabled: false } } } : {});
  return passed ? [...violations, ...(await contrastFindings(page, passed))] : violations;
}

/**
 * Runs only `color-contrast`, and only on elements whose colours are not in `passed`. Adds the colours in which axe has
 * found enough contrast. Half of the time of axe is spent on contrast, and the screens of a site repeat few colours.
 */
export async function contrastFindings(page: Page, passed: Set<string>): Promise<string[]> {
  const found = await run(page, { runOnly: ["color-contrast"], resultTypes: ["violations", "passes"] }, passed);
  for (const colours of found.passed) passed.add(colours);
  return found.violations;
}

/** Runs only `link-in-text-block`, the other rule about colours, and only if a link stands beside other text. */
export async function linkFindings(page: Page): Promise<string[]> {
  if (!(await page.evaluate<boolean>(HAS_LINK_IN_TEXT))) return [];
  const { violations } = await run(page, { runOnly: ["link-in-text-block"] });
  return violations;
}

interface Found {
  readonly violations: string[];
  readonly passed: string[];
}

async function run(page: Page, options: object, passed?: ReadonlySet<string>): Promise<Found> {
  // The debugger evaluates the script, so the page's Content-Security-Policy does not apply to it.
  if (!(await page.evaluate<boolean>("'axe' in window"))) await page.evaluate(AXE);
  // Without this option, axe also loads and parses the style sheets, for a rule that is not run.
  const preload = { assets: ["media"] };
  const all = { resultTypes: ["violations"], elementRef: true, preload, ...options };
  return page.evaluate<Found>(`(${RUN})(${JSON.stringify(all)}, ${JSON.stringify(passed && [...passed])})`);
}

/**
 * A script that runs axe on the whole document or, if there is a list of passed colours, on the elements in other
 * colours. The colours of an element are everything that decides about its contrast: its own colour, whether its text is
 * large, and all backgrounds and opacities up to the root.
 */
const RUN = `async (options, passed) => {
  const passedColours = new Set(passed);
  const behind = new Map();
  const backgroundsOf = (element) => {
    if (!element) return "";
    if (!behind.has(element)) {
      const { opacity, backgroundColor, backgroundImage, filter, mixBlendMode } = getComputedStyle(element);
      const own = [opacity, backgroundColor, backgroundImage, filter, mixBlendMode].join(" ");
      const isClear = own === "1 rgba(0, 0, 0, 0) none none normal";
      behind.set(element, (isClear ? "" : own + ";") + backgroundsOf(element.parentElement));
    }
    return behind.get(element);
  };
  const coloursOf = (element) => {
    const { color, fontSize, fontWeight, textShadow } = getComputedStyle(element);
    const isLarge = parseFloat(fontSize) >= (fontWeight >= 700 ? 18.67 : 24);
    return [color, isLarge, textShadow, backgroundsOf(element)].join("|");
  };
  const hasText = (element) => element.matches("input, select, textarea") ||
    [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim() !== "");
  const isNew = (element) => hasText(element) && element.checkVisibility() && !passedColours.has(coloursOf(element));
  const include = passed ? [...document.querySelectorAll("body *")].filter(isNew) : [document];
  if (include.length === 0) return { violations: [], passed: [] };
  const results = await axe.run({ include }, options);
  return {
    violations: results.violations.flatMap(({ id, nodes }) =>
      nodes.map(({ target, failureSummary }) => id + ": " + target.join(" ") + ": " + failureSummary)),
    passed: passed ? [...new Set(results.passes.flatMap(({ nodes }) => nodes.map(({ element }) => coloursOf(element))))] : [],
  };
}`;

/** A script that returns whether a block with a link also has text outside of links. */
const HAS_LINK_IN_TEXT = `(() => {
  const lengthOf = ({ textContent }) => textContent.replace(/\\s/g, "").length;
  const blocks = new Map();
  for (const link of document.querySelectorAll("a, [role=link]")) {
    let block = link.parentElement;
    while (block && getComputedStyle(block).display.startsWith("inline")) block = block.parentElement;
    if (block) blocks.set(block, (blocks.get(block) ?? 0) + lengthOf(link));
  }
  return [...blocks].some(([block, inLinks]) => lengthOf(block) > inLinks);
})()`;
