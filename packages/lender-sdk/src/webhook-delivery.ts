import type { Answer } from "./answer.ts";

/** The error of an attempt, its cause, and how to fix it. contract: POST webhooks/test */
export interface DeliveryFault {
  readonly code: string;
  readonly detail: string | null;
  readonly cause: string;
  readonly remedy: string;
}

/** The result of the ping to your callback, and the state of its endpoint. contract: POST webhooks/test */
export interface WebhookTest extends Answer {
  readonly delivered: boolean;
  readonly deliveryId: string;
  readonly durationMs: number;
  readonly request: { readonly url: string; readonly headers: Readonly<Record<string, string>>; readonly body: string };
  readonly response: {
    readonly status: number;
    readonly headers: Readonly<Record<string, string>>;
    readonly body: string;
  } | null;
  readonly error: DeliveryFault | null;
  readonly endpoint: {
    readonly suspended: boolean;
    readonly consecutiveFailures: number;
    readonly nextProbeAt: string | null;
    readonly waiting: number;
    readonly parked: number;
  };
}

/** The state of a delivery. `parked`: all attempts failed, and only a replay sends it again. */
export type DeliveryState = "waiting" | "in_flight" | "delivered" | "parked";

/** Selects the deliveries to list. contract: Deliveries and replays */
export interface DeliveryFilter {
  readonly state?: DeliveryState;
  readonly loan?: string;
  /** ISO 8601 with a zone, or a Date: only events created at or after this time. */
  readonly since?: string | Date;
  /** Deliveries per page, 1 to 200. */
  readonly limit?: number;
  /** The cursor of the page to list: `nextCursor` of the previous page. */
  readonly cursor?: string;
}

/** An event and the state of its delivery. */
export interface Delivery {
  readonly eventId: string;
  readonly kind: string;
  readonly sourceLoanNumber: string;
  readonly sequence: number;
  readonly state: DeliveryState;
  readonly attempts: number;
  readonly nextAttemptAt: string | null;
  readonly lastError: string | null;
  readonly createdAt: string;
}

/** One page of deliveries, newest first. */
export interface DeliveryPage extends Answer {
  readonly deliveries: readonly Delivery[];
  readonly nextCursor: string | null;
}

/** One attempt, with your endpoint's answer. */
export interface DeliveryAttempt {
  readonly number: number;
  readonly replay: boolean;
  readonly startedAt: string;
  readonly durationMs: number;
  readonly outcome: "delivered" | "failed";
  readonly status: number | null;
  readonly headers: Readonly<Record<string, string>> | null;
  readonly body: string | null;
  readonly error: DeliveryFault | null;
}

/** An event with its exact body and every attempt, oldest first. */
export interface DeliveryDetails extends Delivery, Answer {
  readonly settledAt: string | null;
  readonly body: string;
  readonly log: readonly DeliveryAttempt[];
}

/** The answer to the replay of one event. */
export interface ReplayedDelivery extends Answer {
  readonly eventId: string;
  readonly state: DeliveryState;
}

/** Selects the events to send again. Default: the parked events. */
export interface ReplayFilter {
  readonly loan?: string;
  readonly kind?: string;
  readonly since?: string | Date;
  readonly until?: string | Date;
  readonly state?: "parked" | "delivered";
}

/** The answer to the replay of many events. */
export interface StartedReplay extends Answer {
  readonly replayId: string;
  readonly count: number;
  readonly ratePerSecond: number;
}

/** How many events a replay would send. */
export interface CountedReplay extends Answer {
  readonly count: number;
}

/** The progress of a replay. */
export interface Replay extends Answer {
  readonly replayId: string;
  readonly state: "running" | "done" | "cancelled";
  readonly count: number;
  readonly done: number;
  readonly ratePerSecond: number;
  readonly createdAt: string;
  readonly finishedAt: string | null;
}
