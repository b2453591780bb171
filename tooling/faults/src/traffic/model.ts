/** A payment as the lender knows it. */
export interface Payment {
  readonly loan: string;
  readonly reference: string;
  readonly amountMinor: number;
  /** The bytes of every attempt. */
  readonly body: string;
  /** Whether an attempt may have been booked without our knowledge: it ended without an answer, or with a 503. */
  isDoubtful: boolean;
  /** The answer that confirmed the booking. */
  acknowledged: { readonly sequence: number } | undefined;
}

/** A reversal of a payment, or of a part of it, as the lender knows it. */
export interface Reversal {
  readonly loan: string;
  /** The reference of the payment. */
  readonly reference: string;
  readonly reversalReference: string;
  /** Undefined if the lender asked to reverse all that was left of the payment. */
  readonly amountMinor: number | undefined;
  /** The bytes of every attempt. */
  readonly body: string;
  /** Whether an attempt may have been recorded without our knowledge: it ended without an answer, or with a 503. */
  isDoubtful: boolean;
  /** Whether the service has answered that the reversal exceeds what is left of the payment. */
  isRefused: boolean;
  /** The answer that confirmed the reversal. */
  acknowledged: { readonly sequence: number; readonly amountMinor: number } | undefined;
}

/** Loans of one atomic import. */
export interface Batch {
  readonly loans: readonly string[];
  isAcknowledged: boolean;
}

/** A link that a field partner requested. `linkId` is undefined until the service has answered. */
export interface LinkRequest {
  readonly idempotencyKey: string;
  linkId: string | undefined;
}

/** The counters of a run. */
export interface Counts {
  /** How often the fault was caused. */
  strikes: number;
  /** The number of effects of the strikes: killed processes, cut connections, stopped PostgreSQL servers. */
  hits: number;
  /** Payments and reversals that were recorded although no answer said so. */
  lostAnswers: number;
  /** The number of acknowledged reversals. */
  reversed: number;
  /** Kills that waited for a server's commit, and how many of them hit a commit on its way to the disk. */
  killsTimed: number;
  killsAmidCommit: number;
  /** The number of answers with the status 503. */
  refused: number;
  /** The longest time from a strike to the next acknowledged payment. */
  slowestRecoveryMs: number;
}

export function noCounts(): Counts {
  return {
    strikes: 0,
    hits: 0,
    lostAnswers: 0,
    reversed: 0,
    killsTimed: 0,
    killsAmidCommit: 0,
    refused: 0,
    slowestRecoveryMs: 0,
  };
}

const ODD_ANSWERS_KEPT = 20;

/**
 * All requests of the clients and the answers that they got. After the run the database is compared with this model.
 */
export class Model {
  readonly payments: Map<string, Payment> = new Map();
  /** The reversals, by their reversal references, which a run never repeats. */
  readonly reversals: Map<string, Reversal> = new Map();
  readonly batches: Batch[] = [];
  readonly links: LinkRequest[] = [];
  readonly counts: Counts = noCounts();
  /** Answers that the contract does not allow, and other unexpected observations. */
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
