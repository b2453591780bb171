import type { IncomingHttpHeaders, ServerResponse } from "node:http";
import { verdictOn, viewFrom, type LoanView, type WebhookEvent } from "./loan-view.ts";
import { misbehave, type Misbehaviour } from "./misbehaviour.ts";
import { distrustReason, type ReceivedRequest } from "./signer.ts";

/** An accepted event, with its delivery. */
export interface ReceivedEvent extends WebhookEvent {
  headers: IncomingHttpHeaders;
  /** The number in the header X-Service-Attempt; null if the header is missing. */
  attempt: number | null;
  receivedAt: number;
  rawBody: string;
}

/**
 * A verified delivery. `refused`: the receiver answered with its configured misbehaviour and did not record the event.
 */
export interface ReceivedDelivery extends ReceivedEvent {
  outcome: "accepted" | "duplicate" | "refused";
}

/** A delivery that could not be verified or parsed. */
export interface RejectedDelivery {
  headers: IncomingHttpHeaders;
  receivedAt: number;
  rawBody: string;
  status: 400 | 401;
  reason: string;
}

/**
 * A gap: events of the loan are missing before this one. The loan's state was then read from its case. If the case
 * could not be read, the state was taken from the event, whose values are absolute.
 */
export interface Gap {
  sourceLoanNumber: string;
  lastApplied: number;
  sequence: number;
  healedBy: "snapshot" | "event";
}

/** `lost`: the event is recorded, but its answer is lost on the way. */
export type ReceiverBehaviour = "ok" | "lost" | Misbehaviour;

/** The behaviours with which the receiver records the event, although its answer may be late, endless or lost. */
const RECORDS_THE_EVENT = new Set(["ok", "slow", "drip", "lost"]);

/**
 * The receiver of the contract: verifies, answers, then applies each event once and in order (contract: Receiver
 * contract).
 */
export class WebhookReceiver {
  behaviour: ReceiverBehaviour | ((event: ReceivedEvent) => ReceiverBehaviour) = "ok";
  readonly events: ReceivedEvent[] = [];
  readonly deliveries: ReceivedDelivery[] = [];
  readonly underWay: Set<ReceivedDelivery> = new Set();
  readonly unanswered: ReceivedDelivery[] = [];
  readonly rejected: RejectedDelivery[] = [];
  readonly loans: Map<string, LoanView> = new Map();
  readonly gaps: Gap[] = [];
  readonly #seen: Set<string> = new Set();
  readonly #applying: Map<string, Promise<void>> = new Map();
  readonly #secrets: ReadonlyMap<string, string>;
  readonly #now: () => number;
  readonly #fetchCase: (loan: string) => Promise<WebhookEvent | null>;
  readonly #changed: () => void;

  /**
   * @param options.fetchCase GET cases/{loan}; null if it cannot be read now
   * @param options.changed called after each delivery is recorded and after each event is applied
   */
  constructor(options: {
    secrets: ReadonlyMap<string, string>;
    now: () => number;
    fetchCase: (loan: string) => Promise<WebhookEvent | null>;
    changed: () => void;
  }) {
    this.#secrets = options.secrets;
    this.#now = options.now;
    this.#fetchCase = options.fetchCase;
    this.#changed = options.changed;
  }

  /** Answers one POST to the callback URL. */
  handle(incoming: ReceivedRequest, response: ServerResponse): void {
    const distrust = distrustReason(incoming, this.#secrets, this.#now());
    if (distrust !== null) return this.#reject(incoming, response, 401, distrust);
    const event = read(incoming, this.#now());
    if (typeof event === "string") return this.#reject(incoming, response, 400, event);

    const behaviour = typeof this.behaviour === "function" ? this.behaviour(event) : this.behaviour;
    const taken = RECORDS_THE_EVENT.has(behaviour.split(":", 1)[0] ?? "");
    const duplicate = this.#seen.has(event.eventId);
    const properly = () => answer(response, duplicate ? { duplicate: true } : { received: true });
    if (behaviour === "ok") properly();
    else misbehave(behaviour === "lost" ? "reset" : behaviour, response, properly);

    const known = duplicate ? "duplicate" : "accepted";
    const delivery: ReceivedDelivery = { ...event, outcome: taken ? known : "refused" };
    this.deliveries.push(delivery);
    this.#watch(delivery, response);
    if (taken && !duplicate) this.#take(event);
    this.#changed();
  }

  /** Drops the records of deliveries and events; duplicates are still recognized. Returns the events' ids. */
  forget(): string[] {
    this.deliveries.length = 0;
    this.unanswered.length = 0;
    return this.events.splice(0).map(({ eventId }) => eventId);
  }

  /** Resolves when every accepted event is applied. */
  async settled(): Promise<void> {
    while (this.#applying.size > 0) await Promise.all(this.#applying.values());
  }

  #reject({ headers, rawBody }: ReceivedRequest, response: ServerResponse, status: 400 | 401, reason: string): void {
    this.rejected.push({ headers, receivedAt: this.#now(), rawBody: rawBody.toString("utf8"), status, reason });
    response.writeHead(status).end();
    this.#changed();
  }

  /**
   * Records a delivery as unanswered if the sender closes the connection before the answer. Ignores connections that we
   * have reset.
   */
  #watch(delivery: ReceivedDelivery, response: ServerResponse): void {
    if (response.socket?.destroyed === true) return;
    this.underWay.add(delivery);
    response.once("close", () => {
      this.underWay.delete(delivery);
      if (!response.headersSent) this.unanswered.push(delivery);
      this.#changed();
    });
  }

  /** Records an event. A lender with a database stores it here, before it answers, and applies it afterwards. */
  #take(event: ReceivedEvent): void {
    this.#seen.add(event.eventId);
    this.events.push(event);
    const { sourceLoanNumber: loan, sequence } = event;
    if (loan === null || sequence === null) return;
    const before = this.#applying.get(loan) ?? Promise.resolve();
    const applied = before
      .then(() => this.#apply(loan, sequence, event))
      .then(() => {
        if (this.#applying.get(loan) === applied) this.#applying.delete(loan);
        this.#changed();
      });
    this.#applying.set(loan, applied);
  }

  async #apply(loan: string, sequence: number, event: ReceivedEvent): Promise<void> {
    const lastApplied = this.loans.get(loan)?.sequence ?? 0;
    const verdict = verdictOn(sequence, lastApplied);
    if (verdict === "old") return;
    const snapshot = verdict === "gap" ? await this.#fetchCase(loan) : null;
    const isNewer = snapshot !== null && (snapshot.sequence ?? 0) >= sequence;
    this.loans.set(loan, viewFrom(loan, isNewer ? snapshot : event));
    if (verdict === "gap") {
      this.gaps.push({ sourceLoanNumber: loan, lastApplied, sequence, healedBy: isNewer ? "snapshot" : "event" });
    }
  }
}

/** The event, or the reason why the body is invalid. */
function read({ headers, rawBody }: ReceivedRequest, receivedAt: number): ReceivedEvent | string {
  let event: Partial<WebhookEvent> | null;
  try {
    event = JSON.parse(rawBody.toString("utf8")) as Partial<WebhookEvent> | null;
  } catch {
    return "the body is not JSON";
  }
  if (typeof event?.eventId !== "string" || typeof event.kind !== "string") return "eventId or kind is missing";
  if (headers["x-service-event"] !== event.kind) return "X-Service-Event and the kind differ";
  if (headers["x-service-delivery"] !== event.eventId) return "X-Service-Delivery and the eventId differ";
  if ((event.sequence ?? null) === null ? event.sourceLoanNumber : !Number.isSafeInteger(event.sequence)) {
    return "the event has a loan, but its sequence is missing or not an integer";
  }
  const attempt = headers["x-service-attempt"];
  return {
    ...(event as WebhookEvent),
    headers,
    attempt: typeof attempt === "string" ? Number(attempt) : null,
    receivedAt,
    rawBody: rawBody.toString("utf8"),
  };
}

function answer(response: ServerResponse, body: object): void {
  response.writeHead(200, { "Content-Type": "application/json" }).end(JSON.stringify(body));
}
