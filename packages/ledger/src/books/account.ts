import { insertFor, lenderInsert, send, type Tx } from "@collections/database";
import { type CurrencyCode, exponentOf } from "@collections/money";

/** Per case `receivable` and `excess`; per lender the next three; per field partner the last three. */
export type AccountKind =
  | "receivable"
  | "excess"
  | "placed"
  | "settled_direct"
  | "commission_expense"
  | "pending"
  | "credited"
  | "paid";

/** An account of a lender's books. Its id says what it is, so that a posting needs to read no account. */
export interface AccountToOpen {
  readonly lenderId: string;
  readonly id: string;
  readonly kind: AccountKind;
  /** The case, lender or field partner whose account it is. */
  readonly ownerId: string;
  readonly currency: CurrencyCode;
}

/**
 * What is still owed on a case.
 *
 * @example
 * const owed = await balance(em, lenderId, receivableAccount(caseId));
 */
export function receivableAccount(caseId: string): string {
  return `receivable/${caseId}`;
}

/**
 * What was paid on a case beyond what was owed.
 *
 * @example
 * const overpaid = await balance(em, lenderId, excessAccount(caseId));
 */
export function excessAccount(caseId: string): string {
  return `excess/${caseId}`;
}

/**
 * What the lender has placed for collection, the other side of every receivable.
 *
 * @example
 * const placed = await balance(em, lenderId, placedAccount(lenderId, INR));
 */
export function placedAccount(lenderId: string, currency: CurrencyCode): string {
  return `placed/${lenderId}/${currency}`;
}

/**
 * What borrowers have paid to the lender directly.
 *
 * @example
 * const settled = await balance(em, lenderId, settledDirectAccount(lenderId, INR));
 */
export function settledDirectAccount(lenderId: string, currency: CurrencyCode): string {
  return `settled_direct/${lenderId}/${currency}`;
}

/**
 * What collecting has cost the lender in commission.
 *
 * @example
 * const cost = await balance(em, lenderId, commissionExpenseAccount(lenderId, INR));
 */
export function commissionExpenseAccount(lenderId: string, currency: CurrencyCode): string {
  return `commission_expense/${lenderId}/${currency}`;
}

/**
 * What a field partner has earned from a lender and is not credited yet.
 *
 * @example
 * const { balanceMinor } = await balance(em, lenderId, pendingAccount(fieldPartnerId, INR));
 * const pendingMinor = -balanceMinor;
 */
export function pendingAccount(fieldPartnerId: string, currency: CurrencyCode): string {
  return `pending/${fieldPartnerId}/${currency}`;
}

/**
 * What a lender owes a field partner.
 *
 * @example
 * const { creditMinor, debitMinor } = await balance(em, lenderId, creditedAccount(fieldPartnerId, INR));
 * const toPayMinor = creditMinor - debitMinor;
 */
export function creditedAccount(fieldPartnerId: string, currency: CurrencyCode): string {
  return `credited/${fieldPartnerId}/${currency}`;
}

/**
 * What a field partner has been paid out.
 *
 * @example
 * const { creditMinor: paidMinor } = await balance(em, lenderId, paidAccount(fieldPartnerId, INR));
 */
export function paidAccount(fieldPartnerId: string, currency: CurrencyCode): string {
  return `paid/${fieldPartnerId}/${currency}`;
}

/**
 * The two accounts of a case: open them when the case is made.
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
 * A lender's own accounts in one currency: open them before its first case in that currency.
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
 * What a lender keeps for a field partner in one currency: open it when a case is assigned.
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
 * Opens those of the accounts that are not open yet.
 *
 * @example
 * openAccounts(tx, [...lenderAccounts(lenderId, INR), ...caseAccounts(lenderId, caseId, INR)], now);
 */
export function openAccounts(tx: Tx, accounts: readonly AccountToOpen[], now: Date): void {
  if (accounts.length === 0) return;
  // In the order of the key, so that two transactions that open the same accounts wait for each other and never deadlock.
  const inOrder = accounts.toSorted((a, b) => compare(a.lenderId, b.lenderId) || compare(a.id, b.id));
  const values = [
    inOrder.map(({ lenderId }) => lenderId),
    inOrder.map(({ id }) => id),
    inOrder.map(({ kind }) => kind),
    inOrder.map(({ ownerId }) => ownerId),
    inOrder.map(({ currency }) => currency),
    inOrder.map(({ currency }) => exponentOf(currency)),
    now.toISOString(),
  ] as const;
  send(tx, ...insertFor(insertAccounts, values));
}

function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

const insertAccounts = lenderInsert("ledger.open-accounts", {
  table: "ledger.account",
  columns: {
    id: "text",
    kind: "text",
    owner_id: "uuid",
    currency: "char(3)",
    exponent: "smallint",
  },
  equal: { created_at: "$7::timestamptz" },
  ending: "on conflict do nothing",
});
