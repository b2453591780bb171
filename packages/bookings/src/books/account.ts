import { tableOf, type Tx } from "@collections/entities";
import { accountTable } from "@collections/ledger";
import type { CurrencyCode } from "@collections/money";
import { AccountEntity, type AccountKind } from "../schema.ts";

/**
 * An account to open in a lender's ledger. Its id can be computed from its other fields, so a posting does not read the
 * account.
 */
export interface AccountToOpen {
  readonly lenderId: string;
  readonly id: string;
  readonly kind: AccountKind;
  /** The id of the case, lender or field partner that the account belongs to. */
  readonly ownerId: string;
  readonly currency: CurrencyCode;
}

/**
 * Returns the id of the account for the amount that is still owed on a case.
 *
 * @example
 * const owed = await balance(em, lenderId, receivableAccount(caseId));
 */
export function receivableAccount(caseId: string): string {
  return `receivable/${caseId}`;
}

/**
 * Returns the id of the account for the amount that was paid on a case beyond the amount owed.
 *
 * @example
 * const overpaid = await balance(em, lenderId, excessAccount(caseId));
 */
export function excessAccount(caseId: string): string {
  return `excess/${caseId}`;
}

/**
 * Returns the id of the account for everything that the lender has placed for collection. Each placement and each
 * adjustment moves an amount between this account and a receivable.
 *
 * @example
 * const placed = await balance(em, lenderId, placedAccount(lenderId, INR));
 */
export function placedAccount(lenderId: string, currency: CurrencyCode): string {
  return `placed/${lenderId}/${currency}`;
}

/**
 * Returns the id of the account for the payments that borrowers made directly to the lender.
 *
 * @example
 * const settled = await balance(em, lenderId, settledDirectAccount(lenderId, INR));
 */
export function settledDirectAccount(lenderId: string, currency: CurrencyCode): string {
  return `settled_direct/${lenderId}/${currency}`;
}

/**
 * Returns the id of the account for the lender's expense for field partners' commissions.
 *
 * @example
 * const cost = await balance(em, lenderId, commissionExpenseAccount(lenderId, INR));
 */
export function commissionExpenseAccount(lenderId: string, currency: CurrencyCode): string {
  return `commission_expense/${lenderId}/${currency}`;
}

/**
 * Returns the id of the account for a field partner's earnings that are not credited yet.
 *
 * @example
 * const { balanceMinor } = await balance(em, lenderId, pendingAccount(fieldPartnerId, INR));
 * const pendingMinor = -balanceMinor;
 */
export function pendingAccount(fieldPartnerId: string, currency: CurrencyCode): string {
  return `pending/${fieldPartnerId}/${currency}`;
}

/**
 * Returns the id of the account for the amount that a lender owes a field partner.
 *
 * @example
 * const { creditMinor, debitMinor } = await balance(em, lenderId, creditedAccount(fieldPartnerId, INR));
 * const toPayMinor = creditMinor - debitMinor;
 */
export function creditedAccount(fieldPartnerId: string, currency: CurrencyCode): string {
  return `credited/${fieldPartnerId}/${currency}`;
}

/**
 * Returns the id of the account for the amount that was paid out to a field partner.
 *
 * @example
 * const { creditMinor: paidMinor } = await balance(em, lenderId, paidAccount(fieldPartnerId, INR));
 */
export function paidAccount(fieldPartnerId: string, currency: CurrencyCode): string {
  return `paid/${fieldPartnerId}/${currency}`;
}

/**
 * Returns the two accounts of a case. Open them when the case is created.
 *
 * @example
 * openAccounts(tx, caseAccounts(lenderId, caseId, INR), now);
 */
export function caseAccounts(lenderId: string, caseId: string, currency: CurrencyCode): AccountToOpen[] {
  const account = { lenderId, ownerId: caseId, currency };
  return [
    { ...account, kind: "receivable", id: receivableAccount(caseId) },
    { ...account, kind: "excess", id: excessAccount(caseId) },
  ];
}

/**
 * Returns a lender's own accounts in one currency. Open them before the lender's first case in that currency.
 *
 * @example
 * openAccounts(tx, lenderAccounts(lenderId, INR), now);
 */
export function lenderAccounts(lenderId: string, currency: CurrencyCode): AccountToOpen[] {
  const account = { lenderId, ownerId: lenderId, currency };
  return [
    { ...account, kind: "placed", id: placedAccount(lenderId, currency) },
    { ...account, kind: "settled_direct", id: settledDirectAccount(lenderId, currency) },
    { ...account, kind: "commission_expense", id: commissionExpenseAccount(lenderId, currency) },
  ];
}

/**
 * Returns a field partner's accounts with a lender in one currency. Open them when a case is assigned.
 *
 * @example
 * openAccounts(tx, fieldPartnerAccounts(lenderId, fieldPartnerId, INR), now);
 */
export function fieldPartnerAccounts(
  lenderId: string,
  fieldPartnerId: string,
  currency: CurrencyCode,
): AccountToOpen[] {
  const account = { lenderId, ownerId: fieldPartnerId, currency };
  return [
    { ...account, kind: "pending", id: pendingAccount(fieldPartnerId, currency) },
    { ...account, kind: "credited", id: creditedAccount(fieldPartnerId, currency) },
    { ...account, kind: "paid", id: paidAccount(fieldPartnerId, currency) },
  ];
}

/**
 * Opens the accounts that are not open yet. Accounts that exist stay unchanged.
 *
 * @example
 * openAccounts(tx, [...lenderAccounts(lenderId, INR), ...caseAccounts(lenderId, caseId, INR)], now);
 */
export function openAccounts(tx: Tx, accounts: readonly AccountToOpen[], now: Date): void {
  table.open(tx, accounts, now);
}

const table = accountTable(tableOf(AccountEntity));
