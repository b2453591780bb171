/** The figures of one lender, and the lenders to choose from. */
export interface FiguresPage {
  /** The codes of all lenders, sorted. */
  readonly lenderCodes: readonly string[];
  /** Undefined if there is no such lender. */
  readonly figures: Figures | undefined;
}

/** The number of payments or reversals, and their sum in each currency. */
export interface Sum {
  readonly count: number;
  readonly amounts: readonly { readonly amount: string; readonly currency: string }[];
}

/** The figures of one day. */
export interface OneDay {
  /** `YYYY-MM-DD` */
  readonly day: string;
  readonly payments: Sum;
  readonly reversals: Sum;
  readonly deductions: Sum;
  readonly excess: Sum;
  /** The reconciled windows that overlap the day, and the differences that their latest runs have found. */
  readonly reconciliations: { readonly windows: number; readonly differences: number };
  readonly visits: { readonly count: number; readonly byDisposition: Readonly<Record<string, number>> };
  readonly promises: { readonly due: number; readonly kept: number; readonly broken: number };
  readonly paymentLinks: { readonly requested: number; readonly minted: number; readonly unavailable: number };
  readonly activeFieldPartners: number;
}

/** The figures of a lender for a day, for the day before, and for now. */
export interface Figures {
  readonly lenderCode: string;
  readonly timeZone: string;
  readonly day: OneDay;
  readonly dayBefore: OneDay;
  readonly unassignedCases: {
    readonly count: number;
    readonly isComplete: boolean;
    /** The local time of the count, such as `18:00`; null for now. */
    readonly at: string | null;
  };
  readonly endpoints: { readonly endpoints: number; readonly suspended: number; readonly failing: number };
  /** The hours of both days, in order. */
  readonly hours: readonly HourOfDays[];
  readonly funnel: { readonly day: Funnel; readonly dayBefore: Funnel };
  /** Undefined while they are read for the first time. */
  readonly outstanding: Outstanding | undefined;
}

/** The payments of an hour on a day and on the day before. */
export interface HourOfDays {
  /** The local hour, such as `09:00`. */
  readonly hour: string;
  /** Whether clocks were set back, and this is the second of two hours with the same number. */
  readonly isAgain: boolean;
  /** Null if the day has no such hour, or if the hour has not begun. */
  readonly day: Sum | null;
  readonly dayBefore: Sum | null;
}

/** The visits that started on a day, and those with a link that was requested, sent and paid. */
export interface Funnel {
  readonly visits: number;
  readonly withLink: number;
  readonly withSentLink: number;
  readonly withPaidLink: number;
}

/** The amounts that open cases owe, and the local time at which they were read. */
export interface Outstanding {
  /** `HH:MM` */
  readonly at: string;
  readonly currencies: readonly OutstandingInCurrency[];
}

/** The amounts that open cases owe in a currency. */
export interface OutstandingInCurrency {
  readonly currency: string;
  readonly cases: number;
  readonly amount: string;
  /** In the order of the days past due. Ages without a case are left out. */
  readonly ages: readonly {
    /** Such as `1-30`; null for cases whose days past due are unknown. */
    readonly age: string | null;
    readonly cases: number;
    readonly amount: string;
    /** The part of the sum in percent, rounded. */
    readonly percent: number;
    /** The part of the largest amount of an age, from 0 to 1. */
    readonly size: number;
  }[];
}
