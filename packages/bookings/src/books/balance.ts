import { BEFORE_ALL_IDS, query, statement } from "@collections/database";
import type { EntityManager } from "@collections/entities";
import type { Balance } from "@collections/ledger";
import type { CurrencyCode } from "@collections/money";

/** The sums of the transfers of one case, in minor units. */
export interface CaseBalance {
  readonly caseId: string;
  readonly currency: CurrencyCode;
  readonly outstandingMinor: bigint;
  readonly excessMinor: bigint;
  /** The sum of all payments that were captured on the case minus everything that was reversed, including excess. */
  readonly collectedMinor: bigint;
  readonly reversedMinor: bigint;
}

/** A field partner's earnings with one lender according to the ledger, in minor units. */
export interface FieldPartnerBalance {
  readonly fieldPartnerId: string;
  readonly currency: CurrencyCode;
  readonly pendingMinor: bigint;
  /** The sum of the earnings that were credited, but not paid out yet. */
  readonly creditedMinor: bigint;
  readonly paidMinor: bigint;
}

/**
 * Returns the balance of one account. It is positive for an amount owed to the lender (receivable), and negative for an
 * amount owed by the lender (pending, credited). For an account of a case this is an index lookup. For any other account
 * it reads all transfers of the lender.
 *
 * @example
 * const { debitMinor, creditMinor, balanceMinor } = await balance(em, lenderId, receivableAccount(caseId));
 */
export async function balance(em: EntityManager, lenderId: string, accountId: string): Promise<Balance> {
  const [kind, ownerId] = accountId.split("/");
  const ofCase = kind === "receivable" || kind === "excess";
  const [row] = ofCase
    ? await query<Balance>(em, selectCaseAccountBalance, [lenderId, accountId, ownerId])
    : await query<Balance>(em, selectBalance, [lenderId, accountId]);
  return row as Balance;
}

/**
 * Returns one page of the balances of a lender's cases, in the order of the case ids. Cases without transfers are left
 * out. Checks compare these balances with the amounts in the rows of the cases.
 *
 * @example
 * const first = await receivableBalances(em, lenderId, undefined, 1_000);
 * const next = await receivableBalances(em, lenderId, first.at(-1)?.caseId, 1_000);
 */
export async function receivableBalances(
  em: EntityManager,
  lenderId: string,
  afterCaseId: string | undefined,
  limit: number,
): Promise<CaseBalance[]> {
  return query(em, selectCaseBalances, [lenderId, afterCaseId ?? BEFORE_ALL_IDS, limit], LONG_TIMEOUT);
}

/**
 * Returns the balances of all field partners' earnings with this lender. Checks compare these balances with the sums of
 * the stored earnings.
 *
 * @example
 * const balances = await fieldPartnerBalances(em, lenderId);
 * const owing = balances.filter(({ creditedMinor }) => creditedMinor > 0n);
 */
export async function fieldPartnerBalances(em: EntityManager, lenderId: string): Promise<FieldPartnerBalance[]> {
  return query(em, selectFieldPartnerBalances, [lenderId], LONG_TIMEOUT);
}

/**
 * The client's time limit for sums over many rows. It is a little longer than the server's own limit for a statement.
 */
const LONG_TIMEOUT = { timeoutMs: 35_000 };

const SUMS = `
  coalesce(sum(amount_minor) filter (where debit_account = $2), 0)::bigint as "debitMinor",
  coalesce(sum(amount_minor) filter (where credit_account = $2), 0)::bigint as "creditMinor",
  coalesce(sum(case when debit_account = $2 then amount_minor else -amount_minor end), 0)::bigint as "balanceMinor"`;

const selectBalance = statement(
  "ledger.balance",
  `select ${SUMS} from ledger.transfer where lender_id = $1 and (debit_account = $2 or credit_account = $2)`,
);

const selectCaseAccountBalance = statement(
  "ledger.case-account-balance",
  `select ${SUMS} from ledger.transfer
   where lender_id = $1 and case_id = $3 and (debit_account = $2 or credit_account = $2)`,
);

const selectCaseBalances = statement(
  "ledger.receivable-balances",
  `select case_id as "caseId", min(currency::text) as currency,
     coalesce(sum(case when debit_account = 'receivable/' || case_id::text then amount_minor else -amount_minor end)
       filter (where 'receivable/' || case_id::text in (debit_account, credit_account)), 0)::bigint
       as "outstandingMinor",
     coalesce(sum(case when credit_account = 'excess/' || case_id::text then amount_minor else -amount_minor end)
       filter (where 'excess/' || case_id::text in (debit_account, credit_account)), 0)::bigint as "excessMinor",
     coalesce(sum(amount_minor) filter (where kind in ('payment', 'excess')), 0)::bigint
       - coalesce(min(reversed), 0)::bigint as "collectedMinor",
     coalesce(min(reversed), 0)::bigint as "reversedMinor"
   from ledger.transfer
   left join (
     select r.case_id as reversed_case, sum(r.amount_minor)::bigint as reversed from ledger.payment_reversal r
     where r.lender_id = $1 and r.case_id > $2 group by r.case_id
   ) r on r.reversed_case = case_id
   where lender_id = $1 and case_id > $2
   group by case_id order by case_id limit $3`,
);

const selectFieldPartnerBalances = statement(
  "ledger.field-partner-balances",
  `select owner::uuid as "fieldPartnerId", currency::text as currency,
     coalesce(sum(change) filter (where account_kind = 'pending'), 0)::bigint as "pendingMinor",
     coalesce(sum(change) filter (where account_kind = 'credited'), 0)::bigint as "creditedMinor",
     coalesce(sum(change) filter (where account_kind = 'paid'), 0)::bigint as "paidMinor"
   from ledger.transfer t
   cross join lateral (values (t.debit_account, -t.amount_minor), (t.credit_account, t.amount_minor)) s (account, change)
   cross join lateral (select split_part(s.account, '/', 1) as account_kind, split_part(s.account, '/', 2) as owner) a
   where t.lender_id = $1 and t.kind in ('commission', 'earning_credited', 'payout', 'correction')
     and account_kind in ('pending', 'credited', 'paid')
   group by owner, currency order by owner, currency`,
);
