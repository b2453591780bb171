import type { Check, CheckResult, Finding, Verdict } from "./check.ts";
import { CHECKS, FIRST_OF, ALWAYS_RUN } from "./checks.ts";
import { answerTimeMs } from "./answer-checks.ts";
import { CaseService } from "../stand-in/case-service.ts";
import type { Settings } from "../stand-in/settings.ts";
import { StandIn, type Exchange } from "../stand-in/stand-in.ts";
import { StateError } from "./state.ts";

/** Called with each check before it runs (`index` from 0), and with its result. */
export interface Listener {
  readonly begins: (check: Check, index: number, count: number) => void;
  readonly ends: (result: CheckResult) => void;
}

/** The number of checks with each verdict. */
export type Tally = Readonly<Record<Verdict, number>>;

/**
 * Runs the checks one after the other. If an endpoint rejects a valid request, the remaining checks of that endpoint
 * are skipped, because they would prove nothing. Sends requests only to the URLs of the settings. Throws UsageError if
 * the service port is not free.
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
    return await runAll(new StandIn(settings, cases), checks, listener);
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

async function runAll(service: StandIn, checks: readonly Check[], listener: Listener): Promise<CheckResult[]> {
  const results: CheckResult[] = [];
  for (const [index, check] of checks.entries()) {
    listener.begins(check, index, checks.length);
    const skipped = check.skip?.(service.settings) ?? skipReason(check, results);
    const result = skipped === null ? await runCheck(check, service) : skip(check, skipped);
    results.push(result);
    listener.ends(result);
  }
  return results;
}

/**
 * Returns the checks to run on the endpoints in the settings. `only` has names of checks (`mint.link`) or of endpoints
 * (`mint`). The checks that must run before the chosen ones are added. If `only` is empty, returns all checks.
 *
 * @example
 * const all = chosenChecks(settings, []);
 * const some = chosenChecks(settings, ["receiver.duplicate", "mint"]);
 */
export function chosenChecks(
  settings: Pick<Settings, "receiver" | "mint" | "reconcile">,
  only: readonly string[],
): Check[] {
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

/** Returns the endpoint that a check or an endpoint's name is about. */
export function endpointOf(name: string): Exchange["endpoint"] {
  if (name.startsWith("reconcile.")) return "reconcile";
  return name.startsWith("mint.") ? "mint" : "receiver";
}

function skipReason({ name }: Check, before: readonly CheckResult[]): string | null {
  const first = FIRST_OF[endpointOf(name)];
  const hasFailed = before.some((result) => result.name === first && result.verdict === "FAIL");
  return hasFailed && !ALWAYS_RUN.includes(name) ? `needs the check ${first} to pass` : null;
}

async function runCheck(check: Check, service: StandIn): Promise<CheckResult> {
  const from = service.log.length;
  const startedAt = performance.now();
  const findings = await findingsOf(check, service);
  const durationMs = Math.round(performance.now() - startedAt);
  const { sent, cameBack } = check.lookedAt?.(service) ?? describeExchanges(service.log.slice(from));
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
    // A failing state URL is reported once. The later checks do not use it: they look only at answers.
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

/** Describes the requests and answers of a check. Requests with the same description are counted. */
function describeExchanges(exchanges: readonly Exchange[]): { sent: string; cameBack: string } {
  const groups = new Map<string, Exchange[]>();
  for (const made of exchanges) {
    if (made.what !== null) groups.set(made.what, [...(groups.get(made.what) ?? []), made]);
  }
  const sent = [...groups].map(([what, { length }]) => (length > 1 ? `${what} (${length} requests)` : what));
  return { sent: sent.join("; "), cameBack: [...groups.values()].map(describeAnswers).join("; ") };
}

function describeAnswers(alike: readonly Exchange[]): string {
  const texts = new Map<string, number>();
  for (const { outcome } of alike) {
    const text = outcome.kind === "answer" ? String(outcome.status) : outcome.detail;
    texts.set(text, (texts.get(text) ?? 0) + 1);
  }
  const counted = [...texts].map(([text, count]) => (alike.length > 1 ? `${count} × ${text}` : text));
  return `${counted.join(" and ")} in ${Math.max(...alike.map(answerTimeMs))} ms`;
}

const MEND_STATE =
  "Read in the documentation what --state needs. Check that your system applies acknowledged events even while an event of another loan has to wait. The checks after this one look only at answers.";
