import { setTimeout as pause } from "node:timers/promises";
import { confirmPayments } from "./confirm-traffic.ts";
import { until } from "./deadline.ts";
import { askForLinks } from "./door-traffic.ts";
import { importLoans } from "./import-traffic.ts";
import { seededRandom, seedOf } from "./seeded-random.ts";
import type { Stage } from "./stage.ts";

/** What lenders and field partners do all the while. */
export interface Traffic {
  /** Resolves once so many more payments are acknowledged; returns the time that the first of them took. */
  flows(payments: number): Promise<number>;
  /** Begins nothing new; resolves when everything under way has its answer. */
  stop(): Promise<void>;
}

export interface TrafficOptions {
  readonly clients: number;
  /** Rest between two payments of a client, between two links, and between two imports. */
  readonly restMs: number;
  readonly linkRestMs: number;
  readonly importRestMs: number;
}

/** How long the service may take to work again by itself. */
const RECOVERS_WITHIN_MS = 180_000;

export function startTraffic(stage: Stage, options: TrafficOptions): Traffic {
  let isOver = false;
  const randomOf = (who: string) => seededRandom(seedOf(stage.seed, who));
  const pace = (who: string, restMs: number): Pace => ({
    random: randomOf(who),
    isOver: () => isOver,
    rest: () => pause(restMs),
  });
  const clients = Array.from({ length: options.clients }, (_, index) => pace(`client ${index}`, options.restMs));
  const parts = [
    ...clients.map((client) => confirmPayments(stage, client)),
    askForLinks(stage, pace("door", options.linkRestMs)),
    importLoans(stage, pace("import", options.importRestMs)),
  ];
  const ended = Promise.all(parts);
  // Heard of in `stop`.
  ended.catch(() => {});

  return {
    async flows(payments) {
      const { model } = stage;
      const startedAt = performance.now();
      const before = model.acknowledged;
      const reaches = (count: number) => () => model.acknowledged >= before + count;
      await until("payments are acknowledged again", RECOVERS_WITHIN_MS, reaches(1));
      const firstMs = performance.now() - startedAt;
      await until(`${payments} more payments are acknowledged`, RECOVERS_WITHIN_MS, reaches(payments));
      return firstMs;
    },
    async stop() {
      isOver = true;
      await ended;
    },
  };
}

/** What a part of the traffic is given: its own random numbers, when to end, and how to take breath. */
export interface Pace {
  readonly random: () => number;
  readonly isOver: () => boolean;
  readonly rest: () => Promise<void>;
  /** Told how long each answer took. */
  readonly onAnswer?: (ms: number) => void;
}
