import type { Answer, LenderClient, LenderTwin } from "@collections/lender-twin";
import type { Model } from "./model.ts";

/**
 * The part of a stage that the traffic uses: the service's URLs, the clients, and the model of what the clients know.
 */
export interface Scene {
  readonly seed: number;
  readonly model: Model;
  readonly servers: { readonly urls: readonly string[] };
  readonly lender: Pick<LenderTwin, "links">;
  /** Loans that receive payments without a link. */
  readonly loans: readonly string[];
  /** Loans that a payment without a link mostly clears. May be empty. */
  readonly smallLoans: readonly string[];
  readonly accessToken: string;
  readonly sendsMail: boolean;
  readonly mayRefuse: (answer: Answer) => boolean;
  /** Returns a client that acts as one of the lender's servers and has its own connections. */
  client(): LenderClient;
}

/** The settings of one part of the traffic: its random numbers, its end and its pauses. */
export interface Pace {
  readonly random: () => number;
  readonly isOver: () => boolean;
  /** Whether the traffic ended so long ago that requests are no longer repeated. */
  readonly isTooLate: () => boolean;
  readonly rest: () => Promise<void>;
  /** Called with the duration of each answer that settles a request. */
  readonly onAnswer?: (ms: number) => void;
}
