import { setTimeout as pause } from "node:timers/promises";
import { type ClusterLender, openClusterStage } from "../cluster-stage.ts";
import type { Fault } from "../fault.ts";
import { whyNoCluster } from "../own-cluster.ts";

const WARM_UP_MS = 5_000;
const BEFORE_MS = { quick: 10_000, long: 20_000 };
const AWAY_MS = { quick: 10_000, long: 30_000 };
/** The other lenders keep at least this part of their rate: less than 1, because rates vary from one span to the next. */
const LEAST_RATIO = 0.9;

export const lostWorker: Fault = {
  name: "lost-worker",
  sentence: "On a cluster of Citus, one worker is away for thirty seconds: only its own lenders are answered 503.",
  rounds: { quick: 1, long: 4, legs: 1 },
  isAlone: true,
  isByNameOnly: true,
  whyNot: whyNoCluster,
  async run({ seed, rounds, isQuick, onProgress }) {
    const stage = await openClusterStage(seed);
    try {
      const { cluster, model, lenders } = stage;
      const { counts } = model;
      const form = isQuick ? "quick" : "long";
      const traffic = stage.startTraffic({ clientsPerLender: 2, restMs: 400 });
      try {
        await pause(WARM_UP_MS);
        while (counts.strikes < rounds) {
          const node = 1 + (counts.strikes % 2);
          const others = lenders.filter((lender) => lender.node !== node);
          const own = lenders.filter((lender) => lender.node === node);
          const before = await seen(BEFORE_MS[form], others, own);
          await cluster.shutDown(node);
          const away = await seen(AWAY_MS[form], others, own);
          await cluster.startAgain(node);
          counts.strikes += 1;
          counts.hits += 1;
          const recoveryMs = await stage.everyLenderGoesOn(1);
          counts.slowestRecoveryMs = Math.max(counts.slowestRecoveryMs, Math.round(recoveryMs));
          const ratio = away.others.perS / before.others.perS;
          onProgress(
            `worker ${node} away: ${others.length} other lenders ${before.others.perS.toFixed(1)}/s before, ${away.others.perS.toFixed(1)}/s meanwhile (${ratio.toFixed(2)}), ` +
              `${away.others.refused} refused, ${away.others.eventsPerS.toFixed(1)} events/s instead of ${before.others.eventsPerS.toFixed(1)}/s; ` +
              `its ${own.length} lenders: ${away.own.answered} answered, ${away.own.refused} refused; all go on ${Math.round(recoveryMs)} ms after its return`,
          );
          if (ratio < LEAST_RATIO) model.odd(`the other lenders went on at ${ratio.toFixed(2)} of their rate`);
          if (away.others.refused > 0) model.odd(`${away.others.refused} calls of lenders on other nodes were refused`);
          if (away.others.eventsPerS < LEAST_RATIO * before.others.eventsPerS) {
            model.odd(
              `the other lenders received ${away.others.eventsPerS.toFixed(1)} events/s, before ${before.others.eventsPerS.toFixed(1)}`,
            );
          }
          if (away.own.refused === 0) model.odd("no call of the lost worker's lenders was refused: nothing was hit");
        }
      } catch (error) {
        model.odd(`strike ${counts.strikes + 1}: ${String(error)}`);
      }
      await traffic.stop();
      return await stage.judge(onProgress);
    } finally {
      await stage.close();
    }
  },
};

interface Seen {
  readonly answered: number;
  readonly refused: number;
  readonly perS: number;
  readonly eventsPerS: number;
}

/** What lenders see for so long. */
async function seen(
  forMs: number,
  others: readonly ClusterLender[],
  own: readonly ClusterLender[],
): Promise<{ others: Seen; own: Seen }> {
  const startedAt = performance.now();
  const [othersBefore, ownBefore] = [totals(others), totals(own)];
  await pause(forMs);
  const seconds = (performance.now() - startedAt) / 1_000;
  return { others: since(othersBefore, totals(others), seconds), own: since(ownBefore, totals(own), seconds) };
}

function totals(lenders: readonly ClusterLender[]) {
  const sum = (of: (lender: ClusterLender) => number) => lenders.reduce((total, lender) => total + of(lender), 0);
  return {
    answered: sum(({ counts }) => counts.answered),
    refused: sum(({ counts }) => counts.refused),
    events: sum(({ twin }) => twin.events.length),
  };
}

function since(before: ReturnType<typeof totals>, after: ReturnType<typeof totals>, seconds: number): Seen {
  const answered = after.answered - before.answered;
  return {
    answered,
    refused: after.refused - before.refused,
    perS: answered / seconds,
    eventsPerS: (after.events - before.events) / seconds,
  };
}
