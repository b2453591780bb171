import { setTimeout as pause } from "node:timers/promises";
import { until } from "../deadline.ts";
import type { Fault, Leg, Outcome } from "../fault.ts";
import { flatnessOf, type Sample } from "../flatness.ts";
import { violationsIn } from "../invariants.ts";
import { startMixedLoad } from "../soak/mixed-load.ts";
import { type Durations, takeSample, samplingUnavailable } from "../soak/sampler.ts";
import { gatherEvidence, settle } from "../invariants/settle.ts";
import { openStage, type Stage } from "../stage/stage.ts";
import { bookedOf } from "../under-traffic.ts";

/** A round of the fault `soak` takes a minute in the long form and 20 seconds in the short one. */
const FORMS = {
  quick: { roundMs: 20_000, warmsUpMs: 3_000, measuredMs: 3_000, sampleEveryMs: 2_000, linkEveryMs: 400 },
  long: { roundMs: 60_000, warmsUpMs: 30_000, measuredMs: 30_000, sampleEveryMs: 60_000, linkEveryMs: 4_000 },
};
const DRAINED_WITHIN_MS = 300_000;
/**
 * The lowest rate of payments per second at which the measurement is possible. At a lower rate, each third of a short
 * run has too few answers to compare.
 */
const LEAST_PER_S = 10;

export const soak: Fault = {
  name: "soak",
  sentence:
    "Nothing breaks: an hour of mixed load at half of the machine's capacity, during which no resource may grow.",
  rounds: { quick: 1, long: 60, legs: 1 },
  isAlone: true,
  unavailableReason: samplingUnavailable,
  async run(leg) {
    const stage = await openStage(leg.seed, { usesPooler: leg.usesPooler });
    try {
      return await measureLoad(stage, leg);
    } finally {
      await stage.close();
    }
  },
};

async function measureLoad(stage: Stage, leg: Leg): Promise<Outcome> {
  const { model, lender } = stage;
  const form = FORMS[leg.isQuick ? "quick" : "long"];
  const capacityPerS = await capacityOf(stage, form);
  const pacePerS = capacityPerS / 2;
  if (capacityPerS < LEAST_PER_S)
    model.odd(
      `the machine is too busy: its capacity is ${capacityPerS.toFixed(1)} payments/s, at least ${LEAST_PER_S} are needed`,
    );
  leg.onProgress(`${capacityPerS.toFixed(0)} confirmations/s is this machine's capacity`);

  const durations: Durations = { confirmMs: [], listMs: [] };
  const before = partsOf(model);
  const load = startMixedLoad(stage, durations, { confirmationsPerS: pacePerS, linkEveryMs: form.linkEveryMs });
  const arrived = new Set<string>();
  const samples: Sample[] = [];
  const startedAt = performance.now();
  for (let at = form.sampleEveryMs; at <= leg.rounds * form.roundMs; at += form.sampleEveryMs) {
    await pause(startedAt + at - performance.now());
    const sample = await takeSample(stage, durations, Math.round(at / 1_000));
    samples.push(sample);
    for (const id of lender.forgetDeliveries()) arrived.add(id);
    leg.onProgress(sampleText(sample));
  }
  await load.stop();
  await settle(stage, { hurries: leg.isQuick });

  const after = partsOf(model);
  checkLoad(stage, {
    ...load.counts,
    confirmed: samples.reduce((sum, one) => sum + one.confirmations, 0),
    links: after.links - before.links,
    imports: after.imports - before.imports,
  });
  const evidence = await gatherEvidence(stage);
  for (const id of evidence.lender.arrived) arrived.add(id);
  const flatness = flatnessOf(samples);
  const grown = flatness.filter(({ isFlat }) => !isFlat);
  const violations = [
    ...(await violationsIn({ ...evidence, lender: { ...evidence.lender, arrived } })),
    ...grown.map(({ measure, first, last }) => ({
      invariant: "no resource grows under a constant load",
      detail: `${measure}: ${first.toFixed(1)} in the first third, ${last.toFixed(1)} in the last third`,
    })),
  ];
  const counts = { ...model.counts, strikes: samples.length, hits: samples.length };
  const booked = await bookedOf(stage);
  const measured = { capacityPerS, pacePerS, flatness, samples };
  return { counts, sent: model.payments.size, acknowledged: model.acknowledged, booked, violations, soak: measured };
}

/** Returns the sustainable rate: confirmations per second, including the time until all their events are delivered. */
async function capacityOf(stage: Stage, form: (typeof FORMS)["quick"]): Promise<number> {
  const { model } = stage;
  await runAtFullSpeed(stage, form, form.warmsUpMs);
  const before = model.acknowledged;
  const startedAt = performance.now();
  await runAtFullSpeed(stage, form, form.measuredMs);
  return ((model.acknowledged - before) * 1_000) / (performance.now() - startedAt);
}

async function runAtFullSpeed(stage: Stage, form: (typeof FORMS)["quick"], forMs: number): Promise<void> {
  const load = startMixedLoad(stage, { confirmMs: [], listMs: [] }, { linkEveryMs: form.linkEveryMs });
  await pause(forMs);
  await load.stop();
  await until("the events of the measurement are delivered", DRAINED_WITHIN_MS, async () => {
    const { rows } = await stage.postgres.pool.query(
      "select from webhooks.delivery where state in ('waiting', 'retrying') limit 1",
    );
    return rows.length === 0;
  });
}

/** The numbers of links and imports that the service has answered so far. */
function partsOf({ links, batches }: Stage["model"]): { links: number; imports: number } {
  return {
    links: links.filter(({ linkId }) => linkId !== undefined).length,
    imports: batches.filter(({ isAcknowledged }) => isAcknowledged).length,
  };
}

/**
 * Reports each kind of request that did not occur during the measurement, because the measurement proves nothing about
 * such requests.
 */
function checkLoad({ model }: Stage, happened: Readonly<Record<string, number>>): void {
  for (const [part, count] of Object.entries(happened)) if (count === 0) model.odd(`the load contained no ${part}`);
}

function sampleText({ atS, serverMiB, workerMiB, confirmations, confirmP50Ms, confirmP95Ms, waiting }: Sample): string {
  const latency = `p50 ${confirmP50Ms.toFixed(1)} ms, p95 ${confirmP95Ms.toFixed(1)} ms`;
  return `${atS} s: ${confirmations} confirmed, ${latency}, ${waiting} waiting, ${serverMiB} + ${workerMiB} MiB`;
}
