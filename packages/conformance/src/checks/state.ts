import { setTimeout as wait } from "node:timers/promises";
import { fail, type Finding } from "./check.ts";
import { factsAt, type LoanFacts } from "../stand-in/event.ts";
import { exchange } from "../stand-in/exchange.ts";
import type { Settings } from "../stand-in/settings.ts";
import type { StandIn } from "../stand-in/stand-in.ts";

/** The pause between two looks at the state URL, or at the requests that the receiver has sent. */
export const POLL_MS = 50;

/** A loan at the lender's state URL. Missing fields are not compared; amounts are in major units. */
export interface LoanState {
  readonly sequence?: unknown;
  readonly status?: unknown;
  readonly totalCollected?: unknown;
  readonly outstandingAfter?: unknown;
  /** The links that were minted for the loan, each `{linkId, amount}`. */
  readonly links?: unknown;
}

/** The state URL does not answer as documented. */
export class StateError extends Error {
  override readonly name = "StateError";
  readonly code = "STATE_UNREADABLE";
}

/** Reads a loan from the lender's state URL; null if the lender does not know it. Throws StateError. */
export async function readState(settings: Settings, loan: string): Promise<LoanState | null> {
  const { state, stateAuthHeader, timeoutMs } = settings;
  if (state === undefined) throw new TypeError("readState needs a state URL.");
  const url = new URL(state.replaceAll("{loan}", encodeURIComponent(loan)));
  const headers = {
    Accept: "application/json",
    ...(stateAuthHeader && { [stateAuthHeader.name]: stateAuthHeader.value }),
  };
  const outcome = await exchange({ method: "GET", url, headers, body: "" }, timeoutMs);
  if (outcome.kind === "failure") throw new StateError(`The state URL cannot be read: ${outcome.detail}.`);
  if (outcome.status === 404) return null;
  if (outcome.status !== 200) throw new StateError(`The state URL answered ${outcome.status} instead of 200 or 404.`);
  const parsed = parseObject(outcome.body);
  if (parsed === null) throw new StateError("The state URL's answer is not a JSON object.");
  return parsed;
}

/**
 * Waits until the lender has processed all earlier events, and then reads a loan from the state URL. To detect this,
 * sends an event of another loan and waits until the state URL shows it. Throws StateError, also if that takes too
 * long.
 */
export async function settledState(service: StandIn, loan: string): Promise<LoanState | null> {
  const markLoan = service.newLoan();
  await service.deliver(null, service.event(markLoan));
  const until = Date.now() + service.settings.stateLagMs;
  for (;;) {
    const view = await readState(service.settings, markLoan);
    if (isSame(view?.sequence, 1)) break;
    if (Date.now() > until) {
      throw new StateError(`An event was acknowledged, but the state URL ${showsInstead(service, view, 1)}.`);
    }
    await wait(POLL_MS);
  }
  return readState(service.settings, loan);
}

/** Returns whether a loan's state at the state URL is exactly the state after the event with this sequence. */
export function isAt(view: LoanState | null, sequence: number): boolean {
  return view !== null && differencesFrom(view, factsAt(sequence)).length === 0;
}

/**
 * Reports a failure unless the state URL shows, in time, the state of each loan after the event with this `sequence`.
 * Reports nothing if the state URL has not been proven to work. `mend` says how to fix the failure. Throws StateError.
 */
export async function expectStateAt(
  service: StandIn,
  loans: readonly string[],
  sequence: number,
  mend: string,
): Promise<Finding[]> {
  if (!service.stateIsProven) return [];
  await settledState(service, loans[0]!);
  const until = Date.now() + service.settings.stateLagMs;
  for (const loan of loans) {
    let view = await readState(service.settings, loan);
    while (!isAt(view, sequence) && isBehind(view, sequence) && Date.now() < until) {
      await wait(POLL_MS);
      view = await readState(service.settings, loan);
    }
    if (!isAt(view, sequence)) return [fail(`The state URL ${showsInstead(service, view, sequence)}.`, mend)];
  }
  return [];
}

/**
 * Describes how a loan's state at the state URL differs from the expected state: `shows totalCollected 200.5 instead of
 * 100.25`.
 */
export function showsInstead({ mask }: StandIn, view: LoanState | null, sequence: number): string {
  if (view === null) return "does not know the loan";
  const facts = factsAt(sequence);
  const texts = differencesFrom(view, facts).map((field) => {
    return `${field} ${shownAs(view[field], mask)} instead of ${JSON.stringify(facts[field])}`;
  });
  return `shows ${texts.join(" and ")}`;
}

function isBehind(view: LoanState | null, sequence: number): boolean {
  return view === null || Number(view.sequence) < sequence;
}

function differencesFrom(view: LoanState, facts: LoanFacts): (keyof LoanFacts)[] {
  return (["sequence", "status", "totalCollected", "outstandingAfter"] as const)
    .filter((field) => field === "sequence" || view[field] !== undefined)
    .filter((field) => !isSame(view[field], facts[field]));
}

function shownAs(value: unknown, mask: StandIn["mask"]): string {
  return value === undefined ? "missing" : mask(JSON.stringify(value)).slice(0, 60);
}

/**
 * Returns whether a shown value equals the expected one. A shown amount may be a number or a decimal string. It is
 * compared as a double, which is exact because the amounts of the checks are small.
 */
export function isSame(shown: unknown, expected: string | number): boolean {
  if (typeof expected === "string" || typeof shown === "number") return shown === expected;
  return typeof shown === "string" && /^\d+(\.\d+)?$/.test(shown) && Number(shown) === expected;
}

function parseObject(body: Uint8Array): LoanState | null {
  try {
    const value: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}
