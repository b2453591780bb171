/** How much a run measures. */
export interface Plan {
  readonly clients: readonly number[];
  readonly rounds: number;
  readonly roundMs: number;
  /** Rounds before those that count: prepared plans, hot code, full pages after the last checkpoint. */
  readonly warmUpMs: number;
  readonly lenders: number;
  readonly loansPerLender: number;
  /** Delivered in a round, of so many loans. */
  readonly events: number;
  readonly eventLoans: number;
  readonly deliveryRounds: number;
  readonly singleEvents: number;
}

export const FULL_PLAN: Plan = {
  clients: [1, 8, 32, 128],
  rounds: 5,
  roundMs: 1_500,
  warmUpMs: 3_000,
  lenders: 4,
  loansPerLender: 4_000,
  events: 5_000,
  eventLoans: 100,
  deliveryRounds: 5,
  singleEvents: 200,
};

/** For a first look: too short for its figures to be quoted. */
export const QUICK_PLAN: Plan = {
  ...FULL_PLAN,
  clients: [32, 128],
  rounds: 2,
  roundMs: 1_000,
  warmUpMs: 1_500,
  lenders: 2,
  loansPerLender: 1_000,
  events: 2_000,
  deliveryRounds: 2,
  singleEvents: 50,
};
