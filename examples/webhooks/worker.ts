import { setTimeout as pause } from "node:timers/promises";
import { type Database, newId, publicId } from "@collections/database";
import { createOutbound } from "@collections/outbound";
import { createDispatcher, type DispatcherOptions, retryDue, retryQueue } from "@collections/webhooks";
import { advanceReplays, keepPartitions, probeDue, sweep } from "@collections/webhooks";
import type { ProbeFacts, SuspensionRule } from "@collections/webhooks";

interface Options extends Pick<DispatcherOptions, "signingKeyOf" | "ladder" | "onAttempt"> {
  readonly suspension: SuspensionRule;
  readonly onProbe: (probed: ProbeFacts) => void;
}

/**
 * Delivers due events, retries failed ones and pings suspended endpoints, in any number of processes. Returns a function
 * to call at SIGTERM: `process.once("SIGTERM", () => void stop(10_000).then(() => database.close()))`.
 */
export async function startWorker(database: Database, { onProbe, ...options }: Options) {
  const outbound = createOutbound({ allow: "127.0.0.1:*" }); // for this example's receiver; the default allows only public https
  const dispatcher = createDispatcher({ database, outbound, ...options });
  dispatcher.start();
  await database.jobs.work(retryQueue, { concurrency: 4 }, ({ data }) => retryDue(database.em(), data));
  const courier = { outbound, signingKeyOf: options.signingKeyOf, timeoutMs: 10_000, now: () => new Date() };
  const { probeIntervalMs } = options.suspension;
  const prober = { em: () => database.em(), courier, pingOf, probeIntervalMs, onProbe };
  const routines = [
    every(Math.min(1_000, probeIntervalMs), () => probeDue(prober)),
    every(1_000, () => advanceReplays(() => database.em())), // replays of many events, by startReplay
    every(15_000, () => sweep(database.em())),
    every(3_600_000, () => keepPartitions(database.em())),
  ];
  return async function stop(graceMs: number): Promise<void> {
    const routinesEnd = routines.map((stopRoutine) => stopRoutine());
    await Promise.all([dispatcher.stop({ graceMs }), database.jobs.stop(graceMs), ...routinesEnd]);
    await outbound.close({ graceMs });
  };
}

function pingOf(lenderId: string) {
  const eventId = newId();
  return { lenderId, eventId, body: JSON.stringify({ eventId: publicId("evt", eventId), kind: "ping" }) };
}

function every(pauseMs: number, act: () => Promise<unknown>): () => Promise<void> {
  const stopping = new AbortController();
  const { signal } = stopping;
  const running = (async () => {
    while (!signal.aborted) {
      await act().catch(console.error);
      await pause(pauseMs, undefined, { signal }).catch(() => {});
    }
  })();
  return () => (stopping.abort(), running);
}
