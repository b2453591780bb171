import { setTimeout as pause } from "node:timers/promises";
import type { Fault, Leg, Outcome } from "./fault.ts";
import { type Violation, violationsIn } from "./invariants.ts";
import { answersFair } from "./invariants/answers-fair.ts";
import type { Counts } from "./traffic/model.ts";
import { LENDER_RECONCILES, lenderReconciles } from "./invariants/lender-reconciles.ts";
import { gatherEvidence, settle } from "./invariants/settle.ts";
import { openStage, type Stage, type StageOptions } from "./stage/stage.ts";
import { startTraffic, type Traffic, type TrafficOptions } from "./traffic/traffic.ts";

export interface Strikes {
  readonly stage?: StageOptions;
  /** Called before the traffic starts. */
  prepare?(stage: Stage): Promise<void>;
  /** Breaks something once under traffic; resolves when it is repaired. */
  strike(stage: Stage, traffic: Traffic): Promise<void>;
  /** Counts that must be above 0 at the end: a run that hit nothing proves nothing. */
  readonly mustCount?: readonly (keyof Counts)[];
  readonly traffic?: Partial<TrafficOptions>;
  /** The least number of acknowledged payments between two strikes. */
  readonly paymentsBetween?: { readonly quick: number; readonly long: number };
}

/**
 * The usual traffic. Several requests are always under way, but the machine keeps capacity for the recovery after a
 * strike.
 */
const TRAFFIC: TrafficOptions = { clients: 8, restMs: 120, linkRestMs: 100, importRestMs: 500 };
const PAYMENTS_BETWEEN = { quick: 40, long: 40 };
/**
 * A delay of the lender's answer. It is longer than a killed process takes to end on a busy machine, and shorter than
 * the answer's time limit.
 */
export const OUTLASTS_A_KILL = "slow:1000";
/**
 * The maximum number of additional strikes if the requested strikes had no effect, so that a count of `mustCount` is
 * still 0.
 */
const MOST_MORE = 8;

/** Runs a fault's strikes under traffic, waits until no work is left, and checks the invariants. */
export function underTraffic(strikes: Strikes): Fault["run"] {
  return async (leg) => {
    const stage = await openStage(leg.seed, { ...strikes.stage, usesPooler: leg.usesPooler });
    try {
      await strikes.prepare?.(stage);
      await strikeAll(stage, strikes, leg);
      leg.onProgress("waiting until no work is left");
      stage.lender.receiverBehaviour = "ok";
      stage.lender.mintBehaviour = "ok";
      return await settledOutcome(stage, leg);
    } finally {
      await stage.close();
    }
  };
}

async function strikeAll(stage: Stage, strikes: Strikes, { rounds, isQuick, onProgress }: Leg): Promise<void> {
  const { model, random } = stage;
  const { counts } = model;
  const traffic = startTraffic(stage, { ...TRAFFIC, ...strikes.traffic });
  const between = (strikes.paymentsBetween ?? PAYMENTS_BETWEEN)[isQuick ? "quick" : "long"];
  const missing = () => (strikes.mustCount ?? []).filter((name) => counts[name] === 0);
  const isVacuous = () => missing().length > 0;
  try {
    while (counts.strikes < rounds || (isVacuous() && counts.strikes < rounds + MOST_MORE)) {
      await traffic.untilAcknowledged(between);
      await pause(random() * 50);
      await strikes.strike(stage, traffic);
      counts.strikes += 1;
      const recoveryMs = await traffic.untilAcknowledged(1);
      counts.slowestRecoveryMs = Math.max(counts.slowestRecoveryMs, Math.round(recoveryMs));
      onProgress(`strike ${counts.strikes}, ${model.acknowledged} acknowledged, ${counts.lostAnswers} lost answers`);
    }
  } catch (error) {
    model.odd(`strike ${counts.strikes + 1}: ${String(error)}`);
  }
  if (isVacuous()) model.odd(`after ${counts.strikes} strikes these counts are still 0: ${missing().join(", ")}`);
  await traffic.stop();
}

/**
 * Waits until the work has ended and checks the invariants. If the database cannot be read, reports this failure, and
 * also the unexpected answers so far, because they may explain the failure.
 */
async function settledOutcome(stage: Stage, { isQuick }: Leg): Promise<Outcome> {
  try {
    await settle(stage, { hurries: isQuick });
    return await outcomeOf(stage);
  } catch (error) {
    const { counts, payments, acknowledged, oddities } = stage.model;
    const violations = [
      ...oddities.map((detail) => ({ invariant: answersFair.name, detail })),
      { invariant: "the state can be read after the fault", detail: String(error) },
    ];
    return { counts, sent: payments.size, acknowledged, booked: 0, violations };
  }
}

async function outcomeOf(stage: Stage): Promise<Outcome> {
  const { model, servers, workers } = stage;
  const lost = servers.lost + workers.lost;
  if (lost > 0) model.odd(`${lost} processes ended unexpectedly`);
  const violations = await violationsIn(await gatherEvidence(stage));
  const booked = await bookedOf(stage);
  return {
    counts: model.counts,
    sent: model.payments.size,
    acknowledged: model.acknowledged,
    booked,
    violations: [...violations, ...(await differencesAfterReconciling(stage))],
  };
}

async function differencesAfterReconciling(stage: Stage): Promise<Violation[]> {
  const details = await lenderReconciles(stage).catch((error: unknown) => [String(error)]);
  return details.map((detail) => ({ invariant: LENDER_RECONCILES, detail }));
}

/** Returns the number of bookings in the database. */
export async function bookedOf({ postgres }: Stage): Promise<number> {
  const { rows } = await postgres.pool.query<{ booked: string }>(
    "select count(*) as booked from ledger.payment_booking",
  );
  return Number(rows[0]!.booked);
}
