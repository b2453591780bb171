import { setTimeout as pause } from "node:timers/promises";
import type { Fault, Leg, Outcome } from "./fault.ts";
import { violationsIn } from "./invariants.ts";
import { answersFair } from "./invariants/answers-fair.ts";
import type { Counts } from "./traffic/model.ts";
import { gatherEvidence, settle } from "./invariants/settle.ts";
import { openStage, type Stage, type StageOptions } from "./stage/stage.ts";
import { startTraffic, type Traffic, type TrafficOptions } from "./traffic/traffic.ts";

export interface Blow {
  readonly stage?: StageOptions;
  /** Before the traffic begins. */
  prepare?(stage: Stage): Promise<void>;
  /** Breaks something once, while lenders and field partners go on; resolves when it is whole again. */
  strike(stage: Stage, traffic: Traffic): Promise<void>;
  /** Counts that must be above 0 at the end: a run that hit nothing has shown nothing. */
  readonly mustCount?: readonly (keyof Counts)[];
  readonly traffic?: Partial<TrafficOptions>;
  /** Payments that are acknowledged between two strikes, at least. */
  readonly paymentsBetween?: { readonly quick: number; readonly long: number };
}

/** Several of them are under way at any moment, and leave some of the machine to what is broken. */
const TRAFFIC: TrafficOptions = { clients: 8, restMs: 120, linkRestMs: 100, importRestMs: 500 };
const PAYMENTS_BETWEEN = { quick: 40, long: 40 };
/** Of a lender: longer than a killed process takes to be gone on a busy machine, and within the time that an answer has. */
export const OUTLASTS_A_KILL = "slow:1000";
/** A schedule that has not hit what it must goes on, for up to so many strikes more than it has rounds. */
const MOST_MORE = 8;

/** Runs a fault's strikes under traffic, lets everything come to rest, and judges the invariants. */
export function underTraffic(blow: Blow): Fault["run"] {
  return async (leg) => {
    const stage = await openStage(leg.seed, blow.stage ?? {});
    try {
      await blow.prepare?.(stage);
      await strikeAll(stage, blow, leg);
      leg.onProgress("comes to rest");
      stage.lender.receiverBehaviour = "ok";
      stage.lender.mintBehaviour = "ok";
      return await judged(stage, leg);
    } finally {
      await stage.close();
    }
  };
}

async function strikeAll(stage: Stage, blow: Blow, { rounds, isQuick, onProgress }: Leg): Promise<void> {
  const { model, random } = stage;
  const { counts } = model;
  const traffic = startTraffic(stage, { ...TRAFFIC, ...blow.traffic });
  const between = (blow.paymentsBetween ?? PAYMENTS_BETWEEN)[isQuick ? "quick" : "long"];
  const missing = () => (blow.mustCount ?? []).filter((name) => counts[name] === 0);
  const isVacuous = () => missing().length > 0;
  try {
    while (counts.strikes < rounds || (isVacuous() && counts.strikes < rounds + MOST_MORE)) {
      await traffic.flows(between);
      await pause(random() * 50);
      await blow.strike(stage, traffic);
      counts.strikes += 1;
      const recoveryMs = await traffic.flows(1);
      counts.slowestRecoveryMs = Math.max(counts.slowestRecoveryMs, Math.round(recoveryMs));
      onProgress(`strike ${counts.strikes}, ${model.acknowledged} acknowledged, ${counts.lostAnswers} lost answers`);
    }
  } catch (error) {
    model.odd(`strike ${counts.strikes + 1}: ${String(error)}`);
  }
  if (isVacuous()) model.odd(`after ${counts.strikes} strikes there is none of: ${missing().join(", ")}`);
  await traffic.stop();
}

/** Where nothing can be looked at any more, what was odd until then says why. */
async function judged(stage: Stage, { isQuick }: Leg): Promise<Outcome> {
  try {
    await settle(stage, { hurries: isQuick });
    return await outcomeOf(stage);
  } catch (error) {
    const { counts, payments, acknowledged, oddities } = stage.model;
    const violations = [
      ...oddities.map((detail) => ({ invariant: answersFair.name, detail })),
      { invariant: "what is left can be looked at", detail: String(error) },
    ];
    return { counts, sent: payments.size, acknowledged, booked: 0, violations };
  }
}

async function outcomeOf(stage: Stage): Promise<Outcome> {
  const { model, servers, workers } = stage;
  const lost = servers.lost + workers.lost;
  if (lost > 0) model.odd(`${lost} processes ended by themselves`);
  const violations = await violationsIn(await gatherEvidence(stage));
  return {
    counts: model.counts,
    sent: model.payments.size,
    acknowledged: model.acknowledged,
    booked: await bookedOf(stage),
    violations,
  };
}

/** Payments that are in the books. */
export async function bookedOf({ postgres }: Stage): Promise<number> {
  const { rows } = await postgres.pool.query<{ booked: string }>(
    "select count(*) as booked from ledger.payment_booking",
  );
  return Number(rows[0]!.booked);
}
