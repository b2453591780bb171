import { setTimeout as pause } from "node:timers/promises";
import { confirmPayments } from "../traffic/confirm-traffic.ts";
import { askForLinks } from "../traffic/door-traffic.ts";
import { importLoans } from "../traffic/import-traffic.ts";
import { lookAtLists } from "../traffic/list-traffic.ts";
import type { Heard } from "./sampler.ts";
import { seededRandom, seedOf } from "../traffic/seeded-random.ts";
import type { Stage } from "../stage/stage.ts";
import type { Pace } from "../traffic/pace.ts";
import { TrafficEnd } from "../traffic/traffic-end.ts";
import { watchLinks } from "./watch-traffic.ts";

export interface MixedLoadOptions {
  /** All clients together; without it each goes as fast as it can. */
  readonly confirmationsPerS?: number;
  readonly linkEveryMs: number;
}

/** What came of the parts that are not counted elsewhere. */
export interface MixedLoad {
  readonly counts: { lists: number; listsOfDeliveries: number; updates: number };
  /** Begins nothing new; resolves when everything under way has its answer, or none is to be had: that is odd. */
  stop(): Promise<void>;
}

const CLIENTS = 16;
const IMPORT_EVERY_MS = 2_000;
const LIST_EVERY_MS = 250;
const WATCHERS = 3;

/** Lenders confirm and import, field partners ask for links, watch them and look at lists, each at its own pace. */
export function startMixedLoad(stage: Stage, heard: Heard, options: MixedLoadOptions): MixedLoad {
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
  const onConfirmed = (ms: number) => void heard.confirmMs.push(ms);
  const onListed = (ms: number) => {
    counts.lists += 1;
    heard.listMs.push(ms);
  };
  const onDeliveries = () => void (counts.listsOfDeliveries += 1);
  const onUpdate = () => void (counts.updates += 1);
  for (let index = 0; index < CLIENTS; index += 1) {
    end.join(confirmPayments(stage, pace(`client ${index}`, confirmEveryMs, onConfirmed)));
  }
  end.join(askForLinks(stage, pace("door", linkEveryMs)));
  end.join(importLoans(stage, pace("import", IMPORT_EVERY_MS)));
  end.join(lookAtLists(stage, pace("list", LIST_EVERY_MS, onListed), onDeliveries));
  for (let index = 0; index < WATCHERS; index += 1) end.join(watchLinks(stage, pace(`watch ${index}`, 0, onUpdate)));
  return { counts, stop: () => end.stop() };
}

/** Rests until the next moment of a fixed rhythm; who is late makes up for nothing. */
function every(everyMs: number): () => Promise<void> {
  let nextAt = performance.now() + Math.random() * everyMs;
  return async () => {
    const now = performance.now();
    nextAt = Math.max(nextAt + everyMs, now);
    await pause(nextAt - now);
  };
}
