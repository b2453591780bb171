import { setTimeout as pause } from "node:timers/promises";
import type { Fault } from "../fault.ts";
import { clusterUnavailable } from "../cluster/own-cluster.ts";
import { amidCommitOnNode } from "../stage/amid-commit.ts";
import { underClusterTraffic } from "../cluster/under-cluster-traffic.ts";

const NODES = 3;
const COORDINATOR = 0;
/**
 * How long the coordinator is suspended before it is killed. During this time the worker nodes execute the COMMITs that
 * the coordinator has sent, but no lender gets an answer. A lender then repeats a payment that is committed already,
 * and the payment must not be booked again.
 */
const COMMITS_WITHIN_MS = 50;
/**
 * The delay of each COMMIT at the worker nodes. Without it, on a fast disk, a COMMIT would end before this run has seen
 * it.
 */
const COMMIT_DELAY_US = 20_000;
const NAMES = ["the coordinator", "the first worker", "the second worker"];
/** A schedule in which no answer was lost continues for up to this many more strikes. */
const MOST_MORE = 9;
const PAYMENTS_BETWEEN = { quick: 5, long: 40 };

export const killNodes: Fault = {
  name: "kill-nodes",
  sentence:
    "On a Citus cluster, SIGKILL ends the worker nodes and the coordinator in turn; each is started again a little later.",
  rounds: { quick: 3, long: 15, legs: 4 },
  pooler: "impossible",
  isAlone: true,
  isByNameOnly: true,
  unavailableReason: clusterUnavailable,
  run: underClusterTraffic({
    traffic: { clientsPerLender: 3, restMs: 20 },
    async strikeAll({ cluster, model, random, lenders, untilEveryLenderIsAnswered }, { rounds, isQuick, onProgress }) {
      const { counts } = model;
      onProgress(`${lenders.length} lenders, ${lenders.filter(({ node }) => node === 1).length} on the first worker`);
      await cluster.delayCommits(COMMIT_DELAY_US);
      while (counts.strikes < rounds || (counts.lostAnswers === 0 && counts.strikes < rounds + MOST_MORE)) {
        await untilEveryLenderIsAnswered(PAYMENTS_BETWEEN[isQuick ? "quick" : "long"]);
        const node = (counts.strikes + 1) % NODES;
        const pool = cluster.nodePool(node);
        try {
          await amidCommitOnNode(pool, model);
          if (node === COORDINATOR) {
            cluster.suspend(node);
            await pause(COMMITS_WITHIN_MS);
          }
          await cluster.kill(node);
        } finally {
          await pool.end();
        }
        await pause(random() * 1_500);
        await cluster.startAgain(node);
        counts.strikes += 1;
        counts.hits += 1;
        const recoveryMs = await untilEveryLenderIsAnswered(1);
        counts.slowestRecoveryMs = Math.max(counts.slowestRecoveryMs, Math.round(recoveryMs));
        onProgress(
          `strike ${counts.strikes}, ${NAMES[node]!}: every lender's payments were answered again after ${Math.round(recoveryMs)} ms, ${model.acknowledged} acknowledged, ${counts.lostAnswers} lost answers`,
        );
      }
      if (counts.lostAnswers === 0) model.odd(`no answer was lost in ${counts.strikes} strikes, so they hit nothing`);
    },
  }),
};
