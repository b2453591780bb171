/** The extent of a run's measurements. */
export interface Plan {
  readonly confirmations: ConfirmationPlan;
  readonly webhooks: WebhookPlan;
  readonly imports: ImportPlan;
  readonly app: AppPlan;
  readonly processes: ProcessesPlan;
  readonly start: StartPlan;
  readonly growth: GrowthPlan;
}

export interface ProcessesPlan {
  readonly rounds: number;
  readonly numbers: readonly number[];
  readonly clients: number;
  readonly roundMs: number;
  /** The number of events of a backlog that the workers share in a round. */
  readonly events: number;
  readonly loans: number;
}

export interface StartPlan {
  readonly rounds: number;
  readonly clients: number;
  /** How long the service confirms payments before its memory is measured again. */
  readonly loadMs: number;
}

export interface GrowthPlan {
  readonly rounds: number;
  readonly clients: number;
  /**
   * How many payments a round confirms and delivers. The number is small, because each round adds its events to the
   * smallest books and so makes them larger.
   */
  readonly confirmations: number;
  /** The books that the larger books are compared with. */
  readonly smallest: BookSize;
  readonly larger: readonly BookSize[];
}

/** The size of the books when the measurement begins. */
export interface BookSize {
  readonly events: number;
  readonly lenders: number;
  /** How many of the events wait for their delivery. */
  readonly waiting: number;
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
  /**
   * The number of the field partner's cases: at least a tenth of the links that all rounds request, because a case gets
   * at most ten links a day.
   */
  readonly cases: number;
}

export interface LinkPlan {
  readonly clients: readonly number[];
  /** How many links each client requests in a round. There are rounds by subscription and rounds by polling. */
  readonly perClient: number;
  /** The lender's time to mint a link. */
  readonly mintMs: number;
}

export interface ImportPlan {
  /** The number of requests under way at once. */
  readonly clients: readonly number[];
  readonly rounds: number;
  /** The number of rows that a round imports into empty tables, 1,000 per request. */
  readonly rows: number;
}

export interface ConfirmationPlan {
  /**
   * The numbers of clients for the rows in which the clients pay many loans. `clientsOfOneLoan` has the numbers for the
   * rows in which all clients pay one loan.
   */
  readonly clients: readonly number[];
  readonly clientsOfOneLoan: readonly number[];
  readonly rounds: number;
  readonly roundMs: number;
  /** How long the load runs before the measured rounds, so that plans are prepared and code is compiled. */
  readonly warmUpMs: number;
  readonly lenders: number;
  readonly loansPerLender: number;
}

/** Slow answers: one of every `oneOf` answers is delayed by `delayMs`. */
export interface Stragglers {
  readonly oneOf: number;
  readonly delayMs: number;
}

export interface WebhookPlan {
  readonly rounds: number;
  readonly warmUpRounds: number;
  /** The number of events of the backlog that a round delivers. */
  readonly events: number;
  readonly loans: number;
  /** A second backlog, during whose delivery some answers of the receiver are slow. */
  readonly uneven: { readonly events: number } & Stragglers;
  /** The number of events that are committed one by one in each part of a round. */
  readonly streamEvents: number;
  /** The number of events that wait for the lender with the slow endpoint. */
  readonly slowBacklog: number;
  readonly deliveredRows: { readonly few: number; readonly many: number };
}

export const FULL_PLAN: Plan = {
  confirmations: {
    clients: [1, 8, 32, 128],
    clientsOfOneLoan: [1, 32, 128],
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
  app: {
    rounds: 5,
    list: { clients: [1, 8], roundMs: 2_000, warmUpMs: 3_000, cases: 1_000 },
    links: { clients: [1, 8], perClient: 40, mintMs: 20 },
  },
  processes: { rounds: 5, numbers: [1, 2, 4], clients: 32, roundMs: 2_000, events: 4_000, loans: 1_000 },
  start: { rounds: 7, clients: 32, loadMs: 60_000 },
  growth: {
    rounds: 7,
    clients: 32,
    confirmations: 1_500,
    smallest: { events: 10_000, lenders: 1, waiting: 1 },
    larger: [
      { events: 10_000, lenders: 1_000, waiting: 1 },
      { events: 1_000_000, lenders: 1, waiting: 1 },
      { events: 1_010_000, lenders: 1, waiting: 1_000_000 },
      { events: 10_000_000, lenders: 1, waiting: 1 },
    ],
  },
};

/** The plan of a quick run (`--quick`). Its rounds are too few and too short for figures that could be published. */
export const QUICK_PLAN: Plan = {
  confirmations: {
    clients: [32, 128],
    clientsOfOneLoan: [32],
    rounds: 2,
    roundMs: 700,
    warmUpMs: 1_000,
    lenders: 2,
    loansPerLender: 500,
  },
  webhooks: {
    rounds: 2,
    warmUpRounds: 1,
    events: 800,
    loans: 400,
    uneven: { events: 800, oneOf: 100, delayMs: 500 },
    streamEvents: 20,
    slowBacklog: 300,
    deliveredRows: { few: 10_000, many: 50_000 },
  },
  imports: { clients: [4], rounds: 2, rows: 5_000 },
  app: {
    rounds: 2,
    list: { clients: [8], roundMs: 1_000, warmUpMs: 1_500, cases: 200 },
    links: { clients: [8], perClient: 8, mintMs: 20 },
  },
  processes: { rounds: 1, numbers: [1, 2], clients: 32, roundMs: 1_000, events: 1_000, loans: 500 },
  start: { rounds: 2, clients: 32, loadMs: 3_000 },
  growth: {
    rounds: 3,
    clients: 32,
    confirmations: 1_000,
    smallest: { events: 10_000, lenders: 1, waiting: 1 },
    larger: [
      { events: 10_000, lenders: 50, waiting: 1 },
      { events: 100_000, lenders: 1, waiting: 1 },
      { events: 100_000, lenders: 1, waiting: 50_000 },
    ],
  },
};
