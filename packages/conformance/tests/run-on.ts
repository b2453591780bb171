import { CHECKS, runChecks, type CheckResult, type Settings } from "../src/index.ts";
import { KEY, MINT_AUTH, SECOND_KEY, serve, type TestLender } from "./test-lender.ts";

/** The options of a run. By default all checks run, with a state URL and long time limits. */
export interface RunDetails {
  readonly endpoint?: "receiver" | "mint";
  readonly withState?: boolean;
  /** Whether the lender has registered an auth header for mint calls. Default: true. */
  readonly withMintAuth?: boolean;
  readonly timeoutMs?: number;
  /**
   * How long to wait until the state URL shows an event. Use a short time for a lender that never shows the event,
   * because the test waits for all of that time.
   */
  readonly stateLagMs?: number;
}

export function settingsFor(
  url: string,
  { withState = true, withMintAuth = true, timeoutMs = 300_000, stateLagMs = 300_000 }: RunDetails = {},
): Settings {
  return {
    receiver: new URL(`${url}/hooks`),
    mint: new URL(`${url}/mint`),
    key: KEY,
    secondKey: SECOND_KEY,
    mintAuthHeader: withMintAuth ? MINT_AUTH : undefined,
    state: withState ? `${url}/state/{loan}` : undefined,
    stateAuthHeader: undefined,
    stateLagMs,
    servicePort: undefined,
    loan: undefined,
    currency: "INR",
    lenderCode: "CONFORMANCE",
    timeoutMs,
  };
}

/** Runs the checks of one endpoint, or of both, on a lender. */
export async function runOn(lender: TestLender, details: RunDetails = {}): Promise<CheckResult[]> {
  const server = await serve(lender);
  const { endpoint = "" } = details;
  const checks = CHECKS.filter(({ name }) => name.startsWith(endpoint));
  try {
    return await runChecks(settingsFor(lender.url, details), checks, { begins() {}, ends() {} });
  } finally {
    await server.close();
  }
}

export function namesOf(results: readonly CheckResult[], verdict: CheckResult["verdict"]): string[] {
  return results.filter((result) => result.verdict === verdict).map(({ name }) => name);
}
