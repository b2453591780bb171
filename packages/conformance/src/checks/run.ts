import type { Check, CheckResult, Finding, Verdict } from "./check.ts";
import { CHECKS, FIRST_OF, MADE_ANYWAY } from "./checks.ts";
import { answerTimeMs } from "./answer-checks.ts";
import { CaseService } from "../stand-in/case-service.ts";
import type { Settings } from "../stand-in/settings.ts";
import { StandIn, type Exchange } from "../stand-in/stand-in.ts";
import { StateError } from "./state.ts";

/** Told of each check before it is made, `index` from 0, and of its result. */
export interface Listener {
  readonly begins: (check: Check, index: number, count: number) => void;
  readonly ends: (result: CheckResult) => void;
}

/** How often each verdict was given. */
export type Tally = Readonly<Record<Verdict, number>>;

/**
 * Makes the checks one after the other. Once an endpoint refuses what is good, the rest of its checks would say nothing
 * and is skipped. Makes requests to the URLs of the settings and to nobody else. Throws UsageError where the service port
 * cannot be had.
 *
 * @example
 * const results = await runChecks(settings, chosenChecks(settings, []), {
 *   begins: ({ name }, index, count) => console.log(`${index + 1} of ${count}: ${name}`),
 *   ends: ({ verdict, findings }) => console.log(verdict, findings),
 * });
 * process.exitCode = tally(results).FAIL > 0 ? 1 : 0;
 */
export async function runChecks(
  settings: Settings,
  checks: readonly Check[],
  listener: Listener,
): Promise<CheckResult[]> {
  const cases = await caseServiceFor(settings);
  try {
    return await makeAll(new StandIn(settings, cases), checks, listener);
  } finally {
    await cases?.close();
  }
}

async function caseServiceFor({ servicePort, key, secondKey }: Settings): Promise<CaseService | null> {
  if (servicePort === undefined) return null;
  const cases = new CaseService(secondKey === undefined ? [key] : [key, secondKey]);
  await cases.listen(servicePort);
  return cases;
}

async function makeAll(service: StandIn, checks: readonly Check[], listener: Listener): Promise<CheckResult[]> {
  const results: CheckResult[] = [];
  for (const [index, check] of checks.entries()) {
    listener.begins(check, index, checks.length);
    const skipped = check.skip?.(service.settings) ?? whyPointless(check, results);
    const result = skipped === null ? await make(check, service) : skip(check, skipped);
    results.push(result);
    listener.ends(result);
  }
  return results;
}

/**
 * The checks of the endpoints that are given whose names are in `only`, in full or up to a dot, and those that have to
 * come before them. All of them where `only` is empty.
 *
 * @example
 * const all = chosenChecks(settings, []);
 * const some = chosenChecks(settings, ["receiver.duplicate", "mint"]);
 */
export function chosenChecks(settings: Pick<Settings, "receiver" | "mint">, only: readonly string[]): Check[] {
  const possible = CHECKS.filter(({ name }) => settings[endpointOf(name)] !== undefined);
  const isWanted = ({ name }: Check) => only.some((one) => name === one || name.startsWith(`${one}.`));
  if (only.length === 0) return possible;
  const endpoints = new Set(possible.filter(isWanted).map(({ name }) => endpointOf(name)));
  const firsts = new Set([...endpoints].flatMap((endpoint) => [FIRST_OF[endpoint], `${endpoint}.state`]));
  return possible.filter((check) => isWanted(check) || firsts.has(check.name));
}

/**
 * Counts the verdicts of a run.
 *
 * @example
 * const results = await runChecks(settings, chosenChecks(settings, []), listener);
 * const { PASS, FAIL } = tally(results);
 * console.log(`${PASS} passed, ${FAIL} failed`);
 */
export function tally(results: readonly CheckResult[]): Tally {
  const counts = { PASS: 0, FAIL: 0, WARN: 0, SKIPPED: 0 };
  for (const { verdict } of results) counts[verdict] += 1;
  return counts;
}

function endpointOf(name: string): Exchange["endpoint"] {
  return name.startsWith("mint.") ? "mint" : "receiver";
}

function whyPointless({ name }: Check, before: readonly CheckResult[]): string | null {
  const first = FIRST_OF[endpointOf(name)];
  const hasFailed = before.some((result) => result.name === first && result.verdict === "FAIL");
  return hasFailed && !MADE_ANYWAY.includes(name) ? `says nothing until ${first} passes` : null;
}

async function make(check: Check, service: StandIn): Promise<CheckResult> {
  const from = service.log.length;
  const startedAt = performance.now();
  const findings = await findingsOf(check, service);
  const durationMs = Math.round(performance.now() - startedAt);
  const { sent, cameBack } = check.lookedAt?.(service) ?? inWords(service.log.slice(from));
  const { name, title, why } = check;
  return {
    name,
    title,
    why,
    verdict: verdictOn(findings),
    sent,
    cameBack,
    findings,
    skipped: null,
    durationMs,
  };
}

async function findingsOf(check: Check, service: StandIn): Promise<Finding[]> {
  try {
    return await check.run(service);
  } catch (error) {
    if (!(error instanceof StateError)) throw error;
    // Said once: the checks after this one look at answers only.
    service.stateIsProven = false;
    service.stateIsBroken = true;
    return [{ level: "FAIL", problem: error.message, mend: MEND_STATE }];
  }
}

function skip({ name, title, why }: Check, skipped: string): CheckResult {
  return { name, title, why, verdict: "SKIPPED", sent: "", cameBack: "", findings: [], skipped, durationMs: 0 };
}

function verdictOn(findings: readonly Finding[]): Verdict {
  if (findings.some(({ level }) => level === "FAIL")) return "FAIL";
  return findings.length > 0 ? "WARN" : "PASS";
}

/** Requests that were alike are told of once, with their number. */
function inWords(exchanges: readonly Exchange[]): { sent: string; cameBack: string } {
  const groups = new Map<string, Exchange[]>();
  for (const made of exchanges) {
    if (made.what !== null) groups.set(made.what, [...(groups.get(made.what) ?? []), made]);
  }
  const sent = [...groups].map(([what, { length }]) => (length > 1 ? `${what} (${length} requests)` : what));
  return { sent: sent.join("; "), cameBack: [...groups.values()].map(answersInWords).join("; ") };
}

function answersInWords(alike: readonly Exchange[]): string {
  const texts = new Map<string, number>();
  for (const { outcome } of alike) {
    const text = outcome.kind === "answer" ? String(outcome.status) : outcome.detail;
    texts.set(text, (texts.get(text) ?? 0) + 1);
  }
  const counted = [...texts].map(([text, count]) => (alike.length > 1 ? `${count} × ${text}` : text));
  return `${counted.join(" and ")} in ${Math.max(...alike.map(answerTimeMs))} ms`;
}

const MEND_STATE =
  "See what --state needs in the documentation, and whether your side works off what it has acknowledged, also while an event of another loan has to wait. Checks after this one look at answers only.";
