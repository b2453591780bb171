/** A payment as the lender knows it. */
export interface Payment {
  readonly loan: string;
  readonly reference: string;
  readonly amountMinor: number;
  /** The bytes that are sent, each time the same. */
  readonly body: string;
  /** Some attempt may have been booked without our knowing: it ended without an answer, or with a 503. */
  isDoubtful: boolean;
  /** What the service said when it said that the payment is booked. */
  acknowledged: { readonly sequence: number } | undefined;
}

/** Loans that were sent in one atomic import. */
export interface Batch {
  readonly loans: readonly string[];
  isAcknowledged: boolean;
}

/** A link that a field partner asked for; its id once the service has answered. */
export interface LinkRequest {
  readonly idempotencyKey: string;
  linkId: string | undefined;
}

/** What the run counts. */
export interface Counts {
  /** Times that the fault struck. */
  strikes: number;
  /** Processes that were killed, connections that were cut, PostgreSQLs that were brought down: what a strike hit. */
  hits: number;
  /** Payments that turned out to be booked although no answer had said so. */
  lostAnswers: number;
  /** Kills that waited for a commit of a server's, and those of them that came while one was on its way to the disk. */
  killsTimed: number;
  killsAmidCommit: number;
  /** Answers of 503. */
  refused: number;
  /** The longest time from a strike to the next acknowledged payment. */
  slowestRecoveryMs: number;
}

export function noCounts(): Counts {
  return {
    strikes: 0,
    hits: 0,
    lostAnswers: 0,
    killsTimed: 0,
    killsAmidCommit: 0,
    refused: 0,
    slowestRecoveryMs: 0,
  };
}

const ODD_ANSWERS_KEPT = 20;

/** All that the outside world has asked for and been told: what the database is held against afterwards. */
export class Model {
  readonly payments: Map<string, Payment> = new Map();
  readonly batches: Batch[] = [];
  readonly links: LinkRequest[] = [];
  readonly counts: Counts = noCounts();
  /** Answers that the contract does not have for what was asked, and what else must not be. */
  readonly oddities: string[] = [];

  get acknowledged(): number {
    return this.#acknowledged;
  }

  #acknowledged = 0;

  add(payment: Payment): void {
    this.payments.set(payment.reference, payment);
  }

  acknowledge(payment: Payment, sequence: number): void {
    payment.acknowledged = { sequence };
    this.#acknowledged += 1;
  }

  odd(what: string): void {
    if (this.oddities.length < ODD_ANSWERS_KEPT) this.oddities.push(what);
  }
}
