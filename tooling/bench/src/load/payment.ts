/** A loan that is paid repeatedly. Its outstanding amount is larger than all payments of a run together. */
export interface Loan {
  readonly lenderCode: string;
  readonly number: string;
}

/** One payment to confirm. */
export interface Payment {
  readonly loan: Loan;
  readonly reference: string;
}

/** The loans of a run: `perLender` loans of each lender. */
export interface Loans {
  readonly lenderCodes: readonly string[];
  readonly perLender: number;
  /** The number of each lender's first loan; default 0. */
  readonly first?: number;
}

/**
 * The amount of each payment, in major units. With the commission of `COMMISSION_PERCENT`, each payment leads to an
 * earning.
 */
export const AMOUNT = 125.5;
export const AMOUNT_MINOR = 12_550;
export const COMMISSION_PERCENT = "2.5";
/** `COMMISSION_PERCENT` as it is stored: in ten-thousandths of a percent. */
export const COMMISSION_STORED = 25_000;
export const EARNING_MINOR = 314;
export const CURRENCY = "INR";
export const MODE = "upi";
/**
 * The outstanding amount of each loan. It is so large that no loan is settled during a run: that would take 79,000
 * payments.
 */
export const OUTSTANDING = 9_999_999.5;

/** Returns all loans, alternating between the lenders. */
export function loansOf({ lenderCodes, perLender, first = 0 }: Loans): Loan[] {
  return Array.from({ length: perLender }, (_, index) => first + index).flatMap((index) =>
    lenderCodes.map((lenderCode) => ({ lenderCode, number: loanNumber(lenderCode, index) })),
  );
}

/** Returns the number of a lender's loan. */
export function loanNumber(lenderCode: string, index: number): string {
  return `${lenderCode}-${index}`;
}

/**
 * Returns a function that makes payments for all loans in turn, so that no loan has two payments under way. Each series
 * has its own references.
 */
export function paymentSeries(loans: readonly Loan[], series: string): () => Payment {
  let next = 0;
  return () => {
    const loan = loans[next % loans.length];
    if (!loan) throw new Error("A payment series needs at least one loan.");
    next += 1;
    return { loan, reference: `${series}-${next}` };
  };
}

/** The path that confirms a payment of the loan (contract: Partner endpoints). */
export function confirmPath(loan: Loan): string {
  return `/api/v1/partner/cases/${loan.number}/payments/confirm`;
}

/** The body of the confirmation. */
export function confirmBody({ reference }: Payment, nowMs: number): string {
  return JSON.stringify({ amount: AMOUNT, reference, paidAt: new Date(nowMs).toISOString(), mode: MODE });
}
