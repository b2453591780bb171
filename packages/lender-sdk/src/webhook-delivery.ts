import type { Answer } from "./answer.ts";

/** What went wrong with an attempt, what that means, and what to do. contract: POST webhooks/test */
export interface DeliveryFault {
  readonly code: string;
  readonly detail: string | null;
  readonly cause: string;
  readonly remedy: string;
}

/** How the ping to your callback went, and how its endpoint stands. contract: POST webhooks/test */
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

/** How a delivery stands. `parked`: all attempts failed, and only a replay sends it again. */
export type DeliveryState = "waiting" | "in_flight" | "delivered" | "parked";

/** Which deliveries to list. contract: Deliveries and replays */
export interface DeliveryFilter {
  readonly state?: DeliveryState;
  readonly loan?: string;
  /** ISO 8601 with a zone, or a Date: events made then or later. */
  readonly since?: string | Date;
  /** Deliveries per page, 1 to 200. */
  readonly limit?: number;
  /** `nextCursor` of the page before. */
  readonly cursor?: string;
}

/** An event and how its delivery stands. */
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

/** The newest first. */
export interface DeliveryPage extends Answer {
  readonly deliveries: readonly Delivery[];
  readonly nextCursor: string | null;
}

/** One attempt, with what your side answered. */
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

/** An event with its exact body and every attempt, the oldest first. */
export interface DeliveryDetails extends Delivery, Answer {
  readonly settledAt: string | null;
  readonly body: string;
  readonly log: readonly DeliveryAttempt[];
}

/** One event is sent again. */
export interface ReplayedDelivery extends Answer {
  readonly eventId: string;
  readonly state: DeliveryState;
}

/** Which events to send again; those that are parked, unless told. */
export interface ReplayFilter {
  readonly loan?: string;
  readonly kind?: string;
  readonly since?: string | Date;
  readonly until?: string | Date;
  readonly state?: "parked" | "delivered";
}

/** Many events are sent again. */
export interface StartedReplay extends Answer {
  readonly replayId: string;
  readonly count: number;
  readonly ratePerSecond: number;
}

/** How many events a replay would send. */
export interface CountedReplay extends Answer {
  readonly count: number;
}

/** How far a replay has come. */
export interface Replay extends Answer {
  readonly replayId: string;
  readonly state: "running" | "done" | "cancelled";
  readonly count: number;
  readonly done: number;
  readonly ratePerSecond: number;
  readonly createdAt: string;
  readonly finishedAt: string | null;
}
