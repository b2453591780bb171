import { setTimeout as pause } from "node:timers/promises";
import type { ClusterLender, ClusterStage } from "../cluster/cluster-stage.ts";
import type { Fault } from "../fault.ts";
import { type OwnCluster, clusterUnavailable } from "../cluster/own-cluster.ts";
import { underClusterTraffic } from "../cluster/under-cluster-traffic.ts";

const WARM_UP_MS = 5_000;
const BEFORE_MS = { quick: 10_000, long: 20_000 };
/**
 * How long the worker node is unavailable: longer than every time limit of the service. The longest limit is the 12
 * seconds for an answer.
 */
const AWAY_MS = 30_000;
/** The share of their earlier rate that the lenders on the other nodes must keep. It is below 1, because rates vary. */
const LEAST_RATIO = 0.9;

/** How a worker node becomes unavailable. */
interface Way {
  readonly name: string;
  begin(cluster: OwnCluster, node: number): Promise<void> | void;
  end(cluster: OwnCluster, node: number): Promise<void> | void;
}

const WAYS: readonly Way[] = [
  {
    name: "shut down",
    begin: (cluster, node) => cluster.shutDown(node),
    end: (cluster, node) => cluster.startAgain(node),
  },
  {
    name: "silent",
    begin: (cluster, node) => cluster.suspend(node),
    end: (cluster, node) => cluster.resume(node),
  },
];

export const lostWorker: Fault = {
  name: "lost-worker",
  sentence:
    "On a Citus cluster, one worker node is shut down or hangs for thirty seconds: only the lenders on it are answered 503.",
  rounds: { quick: 2, long: 4, legs: 1 },
  pooler: "impossible",
  isAlone: true,
  isByNameOnly: true,
  unavailableReason: clusterUnavailable,
  run: underClusterTraffic({
    traffic: { clientsPerLender: 4, restMs: 800 },
    async strikeAll(stage, { rounds, isQuick, onProgress }) {
      const { counts } = stage.model;
      await pause(WARM_UP_MS);
      while (counts.strikes < rounds) {
        const way = WAYS[counts.strikes % WAYS.length]!;
        const node = 1 + (Math.floor(counts.strikes / WAYS.length) % 2);
        await strike(stage, way, node, { beforeMs: BEFORE_MS[isQuick ? "quick" : "long"], onProgress });
      }
    },
  }),
};

async function strike(
  { cluster, model, lenders, untilEveryLenderIsAnswered }: ClusterStage,
  way: Way,
  node: number,
  { beforeMs, onProgress }: { readonly beforeMs: number; readonly onProgress: (message: string) => void },
): Promise<void> {
  const others = lenders.filter((lender) => lender.node !== node);
  const own = lenders.filter((lender) => lender.node === node);
  const before = await seen(beforeMs, others, own);
  await way.begin(cluster, node);
  const away = await seen(AWAY_MS, others, own);
  await way.end(cluster, node);
  model.counts.strikes += 1;
  model.counts.hits += 1;
  const recoveryMs = await untilEveryLenderIsAnswered(1);
  model.counts.slowestRecoveryMs = Math.max(model.counts.slowestRecoveryMs, Math.round(recoveryMs));
  const ratio = away.others.perS / before.others.perS;
  const who = `worker ${node} ${way.name}`;
  onProgress(
    `${who}: ${others.length} other lenders ${before.others.perS.toFixed(1)}/s before the fault, ${away.others.perS.toFixed(1)}/s during the fault (${ratio.toFixed(2)}), ` +
      `${away.others.refused} answered 503, ${away.others.eventsPerS.toFixed(1)} events/s instead of ${before.others.eventsPerS.toFixed(1)}/s; ` +
      `its ${own.length} lenders: ${away.own.answered} answered, ${away.own.refused} answered 503; every lender was answered again ${Math.round(recoveryMs)} ms after the node returned`,
  );
  if (ratio < LEAST_RATIO) model.odd(`${who}: the other lenders had only ${ratio.toFixed(2)} of their earlier rate`);
  if (away.others.refused > 0) {
    model.odd(`${who}: ${away.others.refused} calls of lenders on other nodes were answered 503`);
  }
  if (away.others.eventsPerS < LEAST_RATIO * before.others.eventsPerS) {
    model.odd(
      `${who}: the other lenders received ${away.others.eventsPerS.toFixed(1)} events/s,` +
        ` instead of ${before.others.eventsPerS.toFixed(1)} before the fault`,
    );
  }
  if (away.own.refused === 0) model.odd(`${who}: no call of its lenders was answered 503, so the fault hit nothing`);
}

interface Seen {
  readonly answered: number;
  readonly refused: number;
  readonly perS: number;
  readonly eventsPerS: number;
}

/**
 * Measures for `forMs` the rates of two groups of lenders: those on the unavailable node (`own`) and those on the other
 * nodes (`others`).
 */
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
