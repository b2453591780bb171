import { setTimeout as pause } from "node:timers/promises";
import { confirmPayments } from "../traffic/confirm-traffic.ts";
import { requestLinks } from "../traffic/link-traffic.ts";
import { importLoans } from "../traffic/import-traffic.ts";
import { readLists } from "../traffic/list-traffic.ts";
import type { Durations } from "./sampler.ts";
import { seededRandom, seedOf } from "../traffic/seeded-random.ts";
import type { Stage } from "../stage/stage.ts";
import type { Pace } from "../traffic/pace.ts";
import { TrafficEnd } from "../traffic/traffic-end.ts";
import { watchLinks } from "./watch-traffic.ts";

export interface MixedLoadOptions {
  /** The rate of all clients together; by default each client sends as fast as it can. */
  readonly confirmationsPerS?: number;
  readonly linkEveryMs: number;
}

/**
 * A running load of several kinds of requests. `counts` counts the kinds of requests that are not in the record of the
 * clients' requests and answers.
 */
export interface MixedLoad {
  readonly counts: { lists: number; listsOfDeliveries: number; updates: number };
  /**
   * Stops all clients; resolves when every open request has its answer. A missing answer is reported as a violation.
   */
  stop(): Promise<void>;
}

const CLIENTS = 16;
const IMPORT_EVERY_MS = 2_000;
const LIST_EVERY_MS = 250;
const WATCHERS = 3;

/** Lenders confirm and import; field partners request links, watch them and read lists. Each part has its own pace. */
export function startMixedLoad(stage: Stage, durations: Durations, options: MixedLoadOptions): MixedLoad {
  const end = new TrafficEnd(stage.model);
  const counts = { lists: 0, listsOfDeliveries: 0, updates: 0 };
  const pace = (who: string, everyMs: number, onAnswer?: (ms: number) => void): Pace => ({
    random: seededRandom(seedOf(stage.seed, who)),
    isOver: end.isOver,
    isTooLate: end.isTooLate,
    rest: every(everyMs),
    ...(onAnswer && { onAnswer }),
  });
  const { confirmationsPerS = Number.POSITIVE_INFINITY, linkEveryMs } = options;
  const confirmEveryMs = (CLIENTS * 1_000) / confirmationsPerS;
  const onConfirmed = (ms: number) => void durations.confirmMs.push(ms);
  const onListed = (ms: number) => {
    counts.lists += 1;
    durations.listMs.push(ms);
  };
  const onDeliveries = () => void (counts.listsOfDeliveries += 1);
  const onUpdate = () => void (counts.updates += 1);
  for (let index = 0; index < CLIENTS; index += 1) {
    end.join(confirmPayments(stage, pace(`client ${index}`, confirmEveryMs, onConfirmed)));
  }
  end.join(requestLinks(stage, pace("door", linkEveryMs)));
  end.join(importLoans(stage, pace("import", IMPORT_EVERY_MS)));
  end.join(readLists(stage, pace("list", LIST_EVERY_MS, onListed), onDeliveries));
  for (let index = 0; index < WATCHERS; index += 1) end.join(watchLinks(stage, pace(`watch ${index}`, 0, onUpdate)));
  return { counts, stop: () => end.stop() };
}

/**
 * Returns a function that waits until the next turn. There is one turn every `everyMs`. A client that is late does not
 * make up for missed turns.
 */
function every(everyMs: number): () => Promise<void> {
  let nextAt = performance.now() + Math.random() * everyMs;
  return async () => {
    const now = performance.now();
    nextAt = Math.max(nextAt + everyMs, now);
    await pause(nextAt - now);
  };
}
