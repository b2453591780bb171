import type { Answer, LenderClient, LenderTwin } from "@collections/lender-twin";
import type { Model } from "./model.ts";

/** What of a stage the traffic needs: where the service is, who sends, and what is known of it outside. */
export interface Scene {
  readonly seed: number;
  readonly model: Model;
  readonly servers: { readonly urls: readonly string[] };
  readonly lender: Pick<LenderTwin, "links">;
  /** Loans that payments without a link go to. */
  readonly loans: readonly string[];
  readonly accessToken: string;
  readonly sendsMail: boolean;
  readonly mayRefuse: (answer: Answer) => boolean;
  /** One of the lender's own servers, with connections of its own. */
  client(): LenderClient;
}

/** What a part of the traffic is given: its own random numbers, when to end, and how to take breath. */
export interface Pace {
  readonly random: () => number;
  readonly isOver: () => boolean;
  /** Whether the end is so long past that an answer is not asked for once more. */
  readonly isTooLate: () => boolean;
  readonly rest: () => Promise<void>;
  /** Told how long each answer took that says what became of the request. */
  readonly onAnswer?: (ms: number) => void;
}
