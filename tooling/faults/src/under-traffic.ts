import { setTimeout as pause } from "node:timers/promises";
import type { Fault, Leg, Outcome } from "./fault.ts";
import { violationsIn } from "./invariants.ts";
import type { Counts } from "./model.ts";
import { gatherEvidence, settle } from "./settle.ts";
import { openStage, type Stage, type StageOptions } from "./stage.ts";
import { startTraffic, type Traffic } from "./traffic.ts";

export interface Blow {
  readonly stage?: StageOptions;
  /** Before the traffic begins. */
  prepare?(stage: Stage): Promise<void>;
  /** Breaks something once, while lenders and field partners go on; resolves when it is whole again. */
  strike(stage: Stage, traffic: Traffic): Promise<void>;
  /** Counts that must be above 0 at the end: a run that hit nothing has shown nothing. */
  readonly mustCount?: readonly (keyof Counts)[];
}

const CLIENTS = 12;
const REST_MS = 2;
const PAYMENTS_BETWEEN = 40;
/** A schedule that has not hit what it must goes on, up to so many times its rounds. */
const MOST_TIMES = 4;

/** Runs a fault's strikes under traffic, lets everything come to rest, and judges the invariants. */
export function underTraffic(blow: Blow): Fault["run"] {
  return async (leg) => {
    const stage = await openStage(leg.seed, blow.stage ?? {});
    try {
      await blow.prepare?.(stage);
      await strikeAll(stage, blow, leg);
      leg.onProgress("comes to rest");
      await settle(stage, { hurries: leg.isQuick });
      return await outcomeOf(stage);
    } finally {
      await stage.close();
    }
  };
}

async function strikeAll(stage: Stage, blow: Blow, { rounds, onProgress }: Leg): Promise<void> {
  const { model, random } = stage;
  const { counts } = model;
  const traffic = startTraffic(stage, { clients: CLIENTS, restMs: REST_MS });
  const missing = () => (blow.mustCount ?? []).filter((name) => counts[name] === 0);
  const isVacuous = () => missing().length > 0;
  try {
    while (counts.strikes < rounds || (isVacuous() && counts.strikes < rounds * MOST_TIMES)) {
      await traffic.flows(PAYMENTS_BETWEEN);
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
  if (stage.postgres.isUp()) await traffic.stop();
}

async function outcomeOf(stage: Stage): Promise<Outcome> {
  const { model, postgres, servers, workers } = stage;
  const lost = servers.lost + workers.lost;
  if (lost > 0) model.odd(`${lost} processes ended by themselves`);
  const violations = await violationsIn(await gatherEvidence(stage));
  const { rows } = await postgres.pool.query<{ booked: string }>(
    "select count(*) as booked from ledger.payment_booking",
  );
  return {
    counts: model.counts,
    sent: model.payments.size,
    acknowledged: model.acknowledged,
    booked: Number(rows[0]!.booked),
    violations,
  };
}
