import { setTimeout as pause } from "node:timers/promises";
import { confirmPayments } from "./confirm-traffic.ts";
import { until } from "../deadline.ts";
import { requestLinks } from "./link-traffic.ts";
import { importLoans } from "./import-traffic.ts";
import type { Pace, Scene } from "./pace.ts";
import { seededRandom, seedOf } from "./seeded-random.ts";
import { TrafficEnd } from "./traffic-end.ts";

/** The continuous requests of lenders and field partners. */
export interface Traffic {
  /** Resolves when this many more payments are acknowledged, with the time until the first of them was acknowledged. */
  untilAcknowledged(payments: number): Promise<number>;
  /**
   * Stops all clients; resolves when every open request has its answer. A missing answer is reported as a violation.
   */
  stop(): Promise<void>;
}

export interface TrafficOptions {
  readonly clients: number;
  /** The pauses of a client between two payments, two links and two imports. */
  readonly restMs: number;
  readonly linkRestMs: number;
  readonly importRestMs: number;
  /** How long open requests are still repeated after the end of the traffic. */
  readonly patienceMs?: number;
}

/** The time in which the service must recover by itself. */
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
  end.join(requestLinks(stage, pace("door", options.linkRestMs)));
  end.join(importLoans(stage, pace("import", options.importRestMs)));

  return {
    async untilAcknowledged(payments) {
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
