import { bareReference } from "./bare-reference.ts";
import {
  type BookedPayment,
  type CurrencyTotal,
  type FoundDifference,
  isIn,
  listOf,
  listOfDay,
  netOf,
  type ReconciliationWindow,
  type ReportedPayment,
} from "./comparison.ts";

/** A booked payment of a loan that belongs to no row yet. */
export interface LoanPayment extends BookedPayment {
  /** The reference of the payment that this payment is a part of. */
  readonly partOf: string | null;
}

/** What is left of one loan after rows and payments with the same reference were found. */
export interface LoanLeftovers {
  /** Rows without a payment of the same reference. */
  readonly rows: readonly ReportedPayment[];
  /** Rows and their payments that have parts. */
  readonly pairs: readonly { readonly row: ReportedPayment; readonly payment: BookedPayment }[];
  /** Payments without a row, whenever they were paid, and not reversed in full. */
  readonly payments: readonly LoanPayment[];
}

/** The result of comparing the leftovers of one loan. */
export interface LoanResult {
  readonly differences: readonly FoundDifference[];
  /** The number of rows that match a payment and its parts. */
  readonly matched: number;
  /** Rows of the window, or without a time, that have no payment on their loan. */
  readonly rows: readonly ReportedPayment[];
  /** Payments without a row, together with their parts. */
  readonly payments: readonly BookedPayment[];
  /** What to add to the counts and sums of the window's payments, because a part counts with its payment. */
  readonly ours: readonly CurrencyTotal[];
}

/** The window, and the local day of a moment in the lender's time zone. */
export interface PairingRules {
  readonly window: ReconciliationWindow;
  readonly dayOf: (at: Date) => string;
}

/**
 * The second step of a comparison: pairs the leftover rows and payments of one loan, so that no payment is booked twice
 * because its reference was changed.
 *
 * 1. Rows and payments whose references are equal for `bareReference` are `referenceDiffers`, whatever their amounts and
 *    days. They are paired one to one, those with the same amount first. If there are more rows than payments, the other
 *    rows are `referenceDiffers` too, with one of the payments.
 * 2. So are rows and payments with the same amount on the same local day. A row without a time may be of any day of the
 *    window. A row outside the window is not paired in this way.
 * 3. A part that belongs to no row is added to its payment, in the window of the payment. Then `listOf` decides about the
 *    pairs, and a payment without a row is paired by the sum, as in 2.
 * 4. A row outside the window is `otherDay` or `outsideWindow`.
 *
 * @example
 * const rules = { window, dayOf: (at: Date) => at.toISOString().slice(0, 10) };
 * const { differences, matched } = pairOnLoan({ rows, pairs: [], payments: [] }, rules);
 * console.log(differences.length, matched);
 */
export function pairOnLoan(loan: LoanLeftovers, rules: PairingRules): LoanResult {
  return new LoanPairing(loan, rules).run();
}

type Pair = { readonly row: ReportedPayment; readonly payment: LoanPayment };

class LoanPairing {
  readonly #loan: LoanLeftovers;
  readonly #rules: PairingRules;
  readonly #rows: Set<ReportedPayment>;
  readonly #free: Set<LoanPayment>;
  readonly #found: Pair[] = [];
  readonly #ours: CurrencyTotal[] = [];

  constructor(loan: LoanLeftovers, rules: PairingRules) {
    this.#loan = loan;
    this.#rules = rules;
    this.#rows = new Set(loan.rows);
    this.#free = new Set(loan.payments);
  }

  run(): LoanResult {
    const { window } = this.#rules;
    this.#pairBy(
      (row) => [bareReference(row.reference)],
      (payment) => [bareReference(payment.reference)],
    );
    this.#pairByAmount((payment) => payment);
    const parts = this.#partsByPayment();
    const withParts = (payment: LoanPayment) => withSum(payment, parts.get(payment.reference));
    if (parts.size > 0) this.#pairByAmount(withParts);

    const differences: FoundDifference[] = [];
    let matched = 0;
    for (const { row, payment } of this.#loan.pairs) {
      const whole = withParts({ ...payment, partOf: null });
      const list = listOf(row, whole, window);
      if (list) differences.push({ list, row, payment: whole });
      else matched += 1;
    }
    for (const { row, payment } of this.#found) {
      differences.push({ list: "referenceDiffers", row, payment: withParts(payment) });
    }
    const left: ReportedPayment[] = [];
    for (const row of this.#rows) {
      const list = listOfDay(row, window);
      if (list) differences.push({ list, row, payment: null });
      else left.push(row);
    }
    const payments = [...this.#free].map(withParts);
    return { differences, matched, rows: left, payments, ours: this.#ours };
  }

  /** Pairs rows of the window with payments of the same amount and local day. `whole` adds parts to a payment. */
  #pairByAmount(whole: (payment: LoanPayment) => LoanPayment): void {
    const { window, dayOf } = this.#rules;
    const keysOf = (payment: LoanPayment, day: string) => {
      const { currency, amountMinor, reversedMinor } = whole(payment);
      const amounts = reversedMinor > 0n ? [amountMinor - reversedMinor, amountMinor] : [amountMinor];
      return amounts.map((amount) => `${currency} ${amount} ${day}`);
    };
    this.#pairBy(
      ({ paidAt, currency, amountMinor }) =>
        paidAt && isIn(window, paidAt) ? [`${currency} ${amountMinor} ${dayOf(paidAt)}`] : [],
      (payment) => keysOf(payment, dayOf(payment.paidAt)),
    );
    const [firstDay, lastDay] = [dayOf(window.from), dayOf(new Date(window.to.getTime() - 1))];
    this.#pairBy(
      ({ paidAt, currency, amountMinor }) => (paidAt === null ? [`${currency} ${amountMinor} ?`] : []),
      (payment) => {
        const day = dayOf(payment.paidAt);
        return firstDay <= day && day <= lastDay ? keysOf(payment, "?") : [];
      },
    );
  }

  /**
   * Pairs rows and payments with a common key, those with the same amount first. Rows that remain although a payment has
   * their key are found with this payment, too.
   */
  #pairBy(
    rowKeys: (row: ReportedPayment) => readonly string[],
    paymentKeys: (payment: LoanPayment) => readonly string[],
  ): void {
    const candidates = new Map<string, LoanPayment[]>();
    for (const payment of this.#free) {
      for (const key of paymentKeys(payment)) addTo(candidates, key, payment);
    }
    const keyed = [...this.#rows].flatMap((row) => {
      const possible = rowKeys(row).flatMap((key) => candidates.get(key) ?? []);
      return possible.length > 0 ? [{ row, possible }] : [];
    });
    const unpaired = keyed.filter(
      ({ row, possible }) =>
        !this.#take(
          row,
          possible.filter((payment) => isSameAmount(row, payment)),
        ),
    );
    for (const { row, possible } of unpaired) {
      if (!this.#take(row, possible)) this.#found.push({ row, payment: possible[0]! });
      this.#rows.delete(row);
    }
  }

  #take(row: ReportedPayment, possible: readonly LoanPayment[]): boolean {
    const payment = possible.find((one) => this.#free.has(one));
    if (!payment) return false;
    this.#free.delete(payment);
    this.#rows.delete(row);
    this.#found.push({ row, payment });
    return true;
  }

  /**
   * Takes the free parts whose payment is one of the loan's payments here, and returns them by the reference of the
   * payment. Each part counts in the window of its payment.
   */
  #partsByPayment(): Map<string, LoanPayment[]> {
    const all: readonly (BookedPayment & { readonly partOf?: string | null })[] = [
      ...this.#loan.payments,
      ...this.#loan.pairs.map(({ payment }) => payment),
    ];
    const byReference = new Map(all.map((payment) => [payment.reference, payment]));
    const parts = new Map<string, LoanPayment[]>();
    for (const part of this.#free) {
      const whole = wholeOf(part, byReference);
      if (whole?.currency !== part.currency) continue;
      this.#free.delete(part);
      addTo(parts, whole.reference, part);
      this.#count(part, whole);
    }
    return parts;
  }

  #count(part: LoanPayment, whole: BookedPayment): void {
    const { window } = this.#rules;
    const { currency } = part;
    const amountMinor = netOf(part);
    if (isIn(window, part.paidAt)) this.#ours.push({ currency, count: -1, amountMinor: -amountMinor });
    if (isIn(window, whole.paidAt)) this.#ours.push({ currency, count: 0, amountMinor });
  }
}

/** Returns the payment that a part belongs to, also through other parts; undefined for a payment of its own. */
function wholeOf(
  part: LoanPayment,
  byReference: ReadonlyMap<string, BookedPayment & { readonly partOf?: string | null }>,
): BookedPayment | undefined {
  const seen = new Set<string>([part.reference]);
  let whole: (BookedPayment & { readonly partOf?: string | null }) | undefined;
  for (let next: string | null | undefined = part.partOf; next && !seen.has(next); next = whole.partOf) {
    seen.add(next);
    const found = byReference.get(next);
    if (!found) break;
    whole = found;
  }
  return whole;
}

function addTo<Key, Item>(lists: Map<Key, Item[]>, key: Key, item: Item): void {
  const list = lists.get(key);
  if (list) list.push(item);
  else lists.set(key, [item]);
}

function withSum(payment: LoanPayment, parts: readonly LoanPayment[] = []): LoanPayment {
  const sum = (minor: (part: LoanPayment) => bigint) => parts.reduce((total, part) => total + minor(part), 0n);
  return {
    ...payment,
    amountMinor: payment.amountMinor + sum(({ amountMinor }) => amountMinor),
    reversedMinor: payment.reversedMinor + sum(({ reversedMinor }) => reversedMinor),
  };
}

function isSameAmount(row: ReportedPayment, payment: LoanPayment): boolean {
  return row.currency === payment.currency && row.amountMinor === netOf(payment);
}
