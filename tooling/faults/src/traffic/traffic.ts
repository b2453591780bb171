import { setTimeout as pause } from "node:timers/promises";
import { confirmPayments } from "./confirm-traffic.ts";
import { until } from "../deadline.ts";
import { askForLinks } from "./door-traffic.ts";
import { importLoans } from "./import-traffic.ts";
import type { Pace, Scene } from "./pace.ts";
import { seededRandom, seedOf } from "./seeded-random.ts";
import { TrafficEnd } from "./traffic-end.ts";

/** What lenders and field partners do all the while. */
export interface Traffic {
  /** Resolves once so many more payments are acknowledged; returns the time that the first of them took. */
  flows(payments: number): Promise<number>;
  /** Begins nothing new; resolves when everything under way has its answer, or none is to be had: that is odd. */
  stop(): Promise<void>;
}

export interface TrafficOptions {
  readonly clients: number;
  /** Rest between two payments of a client, between two links, and between two imports. */
  readonly restMs: number;
  readonly linkRestMs: number;
  readonly importRestMs: number;
  /** So long after the end answers are still asked for. */
  readonly patienceMs?: number;
}

/** How long the service may take to work again by itself. */
const RECOVERS_WITHIN_MS = 180_000;

export function startTraffic(stage: Scene, options: TrafficOptions): Traffic {
  const end = new TrafficEnd(stage.model, options.patienceMs);
  const randomOf = (who: string) => seededRandom(seedOf(stage.seed, who));
  const pace = (who: string, restMs: number): Pace => ({
    random: randomOf(who),
    isOver: end.isOver,
    isTooLate: end.isTooLate,
    rest: () => pause(restMs),
  });
  const clients = Array.from({ length: options.clients }, (_, index) => pace(`client ${index}`, options.restMs));
  for (const client of clients) end.join(confirmPayments(stage, client));
  end.join(askForLinks(stage, pace("door", options.linkRestMs)));
  end.join(importLoans(stage, pace("import", options.importRestMs)));

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
    stop: () => end.stop(),
  };
}
