/** The extent of a run's measurements. */
export interface Plan {
  readonly confirmations: ConfirmationPlan;
  readonly webhooks: WebhookPlan;
  readonly imports: ImportPlan;
  readonly reconciliations: ReconciliationPlan;
  readonly neighbour: NeighbourPlan;
  readonly app: AppPlan;
  readonly processes: ProcessesPlan;
  readonly schema: SchemaPlan;
  readonly start: StartPlan;
  readonly page: HeadingPlan;
  readonly packages: PackagesPlan;
  readonly growth: GrowthPlan;
}

export interface SchemaPlan {
  readonly rounds: number;
  /** The number of payments of a round, each on a loan of its own, after `warmUpPayments` that are not measured. */
  readonly payments: number;
  readonly warmUpPayments: number;
}

export interface ProcessesPlan {
  readonly rounds: number;
  readonly numbers: readonly number[];
  readonly clients: number;
  readonly roundMs: number;
  /** The number of events that wait at the start of a round. All workers of the round deliver them together. */
  readonly events: number;
  readonly loans: number;
}

export interface StartPlan {
  readonly rounds: number;
  readonly clients: number;
  /** How long the service confirms payments before its memory is measured again. */
  readonly loadMs: number;
}

export interface HeadingPlan {
  readonly rounds: number;
}

export interface PackagesPlan {
  readonly rounds: number;
  /** The numbers of clients that act at the same time. Each number gives one row of the report. */
  readonly clients: readonly number[];
  readonly roundMs: number;
  readonly warmUpMs: number;
  /** The number of wallets, and of purses. */
  readonly accounts: number;
  /** The number of transfers of the busy account, whose balance is read. */
  readonly busyTransfers: number;
  /** The number of events of a backlog. */
  readonly events: number;
  /** The rounds in which single events are timed, the number of these events, and the backlog of a slow endpoint. */
  readonly latencyRounds: number;
  readonly streamEvents: number;
  readonly slowBacklog: number;
}

export interface GrowthPlan {
  readonly rounds: number;
  readonly clients: number;
  /**
   * How many payments a round confirms and delivers. The number is small, because each payment stays in the database:
   * many payments would make the smallest database noticeably larger.
   */
  readonly confirmations: number;
  /** The size of the smallest database. Every larger database is compared with it. */
  readonly smallest: BookSize;
  readonly larger: readonly BookSize[];
}

/** The content of a database when its measurement begins. */
export interface BookSize {
  readonly events: number;
  readonly lenders: number;
  /** How many of the database's events are not delivered yet. */
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
   * The number of the field partner's cases. A case gets at most ten links a day. So the number must be at least a
   * tenth of the links that all rounds request.
   */
  readonly cases: number;
}

export interface LinkPlan {
  readonly clients: readonly number[];
  /**
   * How many links each client requests in a round. In some rounds the clients learn of their links by subscription, in
   * the others by polling.
   */
  readonly perClient: number;
  /** The lender's time to mint a link. */
  readonly mintMs: number;
}

export interface ImportPlan {
  /** The numbers of import requests that are sent at the same time. Each number is measured separately. */
  readonly clients: readonly number[];
  readonly rounds: number;
  /** The number of rows that a round imports into empty tables, 1,000 per request. */
  readonly rows: number;
}

export interface ReconciliationPlan {
  readonly rounds: number;
  /** The numbers of rows of the files, the smallest first. Each file is compared with as many bookings. */
  readonly rows: readonly number[];
}

export interface NeighbourPlan {
  readonly rounds: number;
  readonly roundMs: number;
  /** How many clients confirm payments at the same time. */
  readonly clients: number;
  readonly loans: number;
  /** The bookings in the window of the other lender, which reconciles over `connections` without rows. */
  readonly bookings: number;
  readonly connections: number;
  readonly pauseMs: number;
}

export interface ConfirmationPlan {
  /**
   * How many clients confirm payments at the same time when the payments are for many loans. Each number gives one row
   * of the report. `clientsOfOneLoan` has the numbers for payments that are all for one loan.
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

/** How often the receiver of events answers slowly: it delays one of every `oneOf` answers by `delayMs`. */
export interface Stragglers {
  readonly oneOf: number;
  readonly delayMs: number;
}

export interface WebhookPlan {
  readonly rounds: number;
  readonly warmUpRounds: number;
  /** How many events of the backlog each round delivers. */
  readonly events: number;
  readonly loans: number;
  /**
   * A second measurement with a backlog of its own. While this backlog is delivered, some answers of the receiver are
   * slow.
   */
  readonly uneven: { readonly events: number } & Stragglers;
  /**
   * The number of events that a latency measurement commits, one after the other. A round has two such measurements: on
   * an idle system, and beside a slow lender.
   */
  readonly streamEvents: number;
  /**
   * The number of events that wait for a lender whose endpoint is slow. They must not delay the events of another
   * lender.
   */
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
  reconciliations: { rounds: 3, rows: [100_000, 1_000_000] },
  neighbour: { rounds: 5, roundMs: 10_000, clients: 8, loans: 1_000, bookings: 30_000, connections: 12, pauseMs: 200 },
  app: {
    rounds: 5,
    list: { clients: [1, 8], roundMs: 2_000, warmUpMs: 3_000, cases: 1_000 },
    links: { clients: [1, 8], perClient: 40, mintMs: 20 },
  },
  processes: { rounds: 5, numbers: [1, 2, 4], clients: 32, roundMs: 2_000, events: 4_000, loans: 1_000 },
  schema: { rounds: 5, payments: 5_000, warmUpPayments: 500 },
  start: { rounds: 7, clients: 32, loadMs: 60_000 },
  page: { rounds: 7 },
  packages: {
    rounds: 3,
    clients: [1, 8],
    roundMs: 1_000,
    warmUpMs: 1_000,
    accounts: 1_000,
    busyTransfers: 20_000,
    events: 1_000,
    latencyRounds: 2,
    streamEvents: 40,
    slowBacklog: 200,
  },
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
  reconciliations: { rounds: 1, rows: [10_000, 50_000] },
  neighbour: { rounds: 2, roundMs: 3_000, clients: 8, loans: 500, bookings: 30_000, connections: 12, pauseMs: 200 },
  app: {
    rounds: 2,
    list: { clients: [8], roundMs: 1_000, warmUpMs: 1_500, cases: 200 },
    links: { clients: [8], perClient: 8, mintMs: 20 },
  },
  processes: { rounds: 1, numbers: [1, 2], clients: 32, roundMs: 1_000, events: 1_000, loans: 500 },
  schema: { rounds: 1, payments: 1_000, warmUpPayments: 100 },
  start: { rounds: 2, clients: 32, loadMs: 3_000 },
  page: { rounds: 1 },
  packages: {
    rounds: 2,
    clients: [8],
    roundMs: 400,
    warmUpMs: 300,
    accounts: 200,
    busyTransfers: 5_000,
    events: 800,
    latencyRounds: 1,
    streamEvents: 20,
    slowBacklog: 200,
  },
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
