import type { Stragglers } from "./throughput.ts";

/** How much a run measures. */
export interface Plan {
  readonly confirmations: ConfirmationPlan;
  readonly webhooks: WebhookPlan;
  readonly imports: ImportPlan;
  readonly signing: SigningPlan;
  readonly app: AppPlan;
}

export interface AppPlan {
  readonly rounds: number;
  readonly list: ListPlan;
  readonly links: LinkPlan;
}

export interface ListPlan {
  readonly clients: readonly number[];
  readonly roundMs: number;
  readonly warmUpMs: number;
  /** Cases in the field partner's hands: at least a tenth of the links that all rounds ask for. */
  readonly cases: number;
}

export interface LinkPlan {
  readonly clients: readonly number[];
  /** Links that each client asks for in a round, once by each way of hearing of them. */
  readonly perClient: number;
  /** The lender takes so long to mint one. */
  readonly mintMs: number;
}

export interface SigningPlan {
  readonly rounds: number;
  readonly bodyBytes: readonly number[];
  /** How long each side does one thing in a round. */
  readonly workMs: number;
}

export interface ImportPlan {
  /** How many requests are under way at once. */
  readonly clients: readonly number[];
  readonly rounds: number;
  /** Rows of a round, 1,000 to a request, into tables that are empty. */
  readonly rows: number;
}

export interface ConfirmationPlan {
  readonly clients: readonly number[];
  readonly rounds: number;
  readonly roundMs: number;
  /** Rounds before those that count: prepared plans, hot code, full pages after the last checkpoint. */
  readonly warmUpMs: number;
  readonly lenders: number;
  readonly loansPerLender: number;
}

export interface WebhookPlan {
  readonly rounds: number;
  readonly warmUpRounds: number;
  /** A backlog that is worked off in a round, of so many loans. */
  readonly events: number;
  readonly loans: number;
  /** Another backlog, of which a few answers take long. */
  readonly uneven: { readonly events: number } & Stragglers;
  /** Events that come one by one, in each part of a round. */
  readonly streamEvents: number;
  /** Events that wait for a lender whose endpoint is slow. */
  readonly slowBacklog: number;
  readonly deliveredRows: { readonly few: number; readonly many: number };
}

export const FULL_PLAN: Plan = {
  confirmations: {
    clients: [1, 8, 32, 128],
    rounds: 5,
    roundMs: 1_500,
    warmUpMs: 3_000,
    lenders: 4,
    loansPerLender: 4_000,
  },
  webhooks: {
    rounds: 5,
    warmUpRounds: 2,
    events: 4_000,
    loans: 1_000,
    uneven: { events: 3_000, oneOf: 100, delayMs: 1_000 },
    streamEvents: 120,
    slowBacklog: 1_000,
    deliveredRows: { few: 10_000, many: 3_000_000 },
  },
  imports: { clients: [1, 4], rounds: 3, rows: 100_000 },
  signing: { rounds: 7, bodyBytes: [200, 20_000], workMs: 250 },
  app: {
    rounds: 5,
    list: { clients: [1, 8], roundMs: 2_000, warmUpMs: 3_000, cases: 1_000 },
    links: { clients: [1, 8], perClient: 40, mintMs: 20 },
  },
};

/** For a first look: too short for its figures to be quoted. */
export const QUICK_PLAN: Plan = {
  confirmations: {
    clients: [32, 128],
    rounds: 2,
    roundMs: 1_000,
    warmUpMs: 1_500,
    lenders: 2,
    loansPerLender: 1_000,
  },
  webhooks: {
    rounds: 2,
    warmUpRounds: 1,
    events: 1_500,
    loans: 1_000,
    uneven: { events: 1_500, oneOf: 100, delayMs: 500 },
    streamEvents: 40,
    slowBacklog: 500,
    deliveredRows: { few: 10_000, many: 200_000 },
  },
  imports: { clients: [4], rounds: 2, rows: 10_000 },
  signing: { rounds: 5, bodyBytes: [200, 20_000], workMs: 60 },
  app: {
    rounds: 2,
    list: { clients: [8], roundMs: 1_000, warmUpMs: 1_500, cases: 300 },
    links: { clients: [1, 8], perClient: 15, mintMs: 20 },
  },
};
