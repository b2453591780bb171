import { query, statement } from "@collections/database";
import type { EntityManager } from "@collections/entities";
import type { CurrencyCode } from "@collections/money";
import type { TransferKind } from "../schema.ts";

/** One line of a case's account statement, in minor units. A payment is one line, even if part of it is excess. */
export interface StatementLine {
  readonly caseId: string;
  readonly currency: CurrencyCode;
  readonly sequence: bigint;
  /** When the change happened. Lines are sorted by `sequence`, not by this time. */
  readonly at: Date;
  readonly recordedAt: Date;
  readonly kind: Exclude<TransferKind, "excess">;
  readonly memo: string;
  /** The reference of a payment; null for any other line. */
  readonly reference: string | null;
  /** `debitMinor` was added to the amount owed, `creditMinor` was subtracted from it. */
  readonly debitMinor: bigint;
  readonly creditMinor: bigint;
  /** The part of a payment that was paid beyond the amount owed. */
  readonly excessMinor: bigint;
  /** The amount that is owed after this line of the account statement. */
  readonly balanceMinor: bigint;
}

/** The totals of an account statement. They satisfy `outstanding = placed + adjusted + corrected − collected`. */
export interface StatementTotals {
  readonly placedMinor: bigint;
  readonly adjustedMinor: bigint;
  readonly correctedMinor: bigint;
  /** The part of the payments that lowered the amount owed. */
  readonly collectedMinor: bigint;
  readonly excessMinor: bigint;
  readonly outstandingMinor: bigint;
}

/** The account statement of one case, starting with its placement. */
export interface CaseStatement {
  readonly caseId: string;
  readonly lines: readonly StatementLine[];
  readonly totals: StatementTotals;
}

/**
 * Returns the account statements of a lender's cases, such as the cycles of a loan, in the order of `caseIds`.
 *
 * @example
 * const [account] = await statementOf(em, { lenderId, caseIds: [caseId] });
 * for (const { at, memo, debitMinor, creditMinor, balanceMinor } of account?.lines ?? []) {
 *   console.log(at.toISOString(), memo, debitMinor - creditMinor, balanceMinor);
 * }
 */
export async function statementOf(
  em: EntityManager,
  { lenderId, caseIds }: { readonly lenderId: string; readonly caseIds: readonly string[] },
): Promise<CaseStatement[]> {
  if (caseIds.length === 0) return [];
  const lines = await query<StatementLine>(em, selectLines, [lenderId, caseIds]);
  const linesByCase = Map.groupBy(lines, ({ caseId }) => caseId);
  return caseIds.map((caseId) => {
    const ownLines = linesByCase.get(caseId) ?? [];
    return { caseId, lines: ownLines, totals: totalsOf(ownLines) };
  });
}

function totalsOf(lines: readonly StatementLine[]): StatementTotals {
  const net = (kind: StatementLine["kind"]) =>
    sum(lines.filter((line) => line.kind === kind).map(({ debitMinor, creditMinor }) => debitMinor - creditMinor));
  return {
    placedMinor: net("placement"),
    adjustedMinor: net("adjustment"),
    correctedMinor: net("correction"),
    collectedMinor: -net("payment"),
    excessMinor: sum(lines.map(({ excessMinor }) => excessMinor)),
    outstandingMinor: lines.at(-1)?.balanceMinor ?? 0n,
  };
}

function sum(amounts: readonly bigint[]): bigint {
  return amounts.reduce((total, amount) => total + amount, 0n);
}

// LATERAL makes PostgreSQL look up each case in the index. Without it, a plan that was prepared while the tables were empty
// would read the whole table.
const selectLines = statement(
  "ledger.statement",
  `with posting as (
     select t.*, 'receivable/' || c.id::text as receivable, 'excess/' || c.id::text as excess,
       case when t.kind in ('payment', 'excess') then t.booking_id else t.id end as line_id
     from unnest($2::uuid[]) as c (id)
     cross join lateral (select * from ledger.transfer where lender_id = $1 and case_id = c.id offset 0) t
   ), line as (
     select case_id, line_id, min(currency::text) as currency, min(sequence) as sequence, min(id::text) as first_id,
       min(effective_at) as at, min(recorded_at) as recorded_at,
       case when min(kind) = 'excess' then 'payment' else min(kind) end as kind, min(memo) as memo,
       bool_or(kind in ('payment', 'excess')) as booked,
       coalesce(sum(amount_minor) filter (where debit_account = receivable), 0)::bigint as debit,
       coalesce(sum(amount_minor) filter (where credit_account = receivable), 0)::bigint as credit,
       (coalesce(sum(amount_minor) filter (where credit_account = excess), 0)
         - coalesce(sum(amount_minor) filter (where debit_account = excess), 0))::bigint as excess
     from posting
     where receivable in (debit_account, credit_account) or excess in (debit_account, credit_account)
     group by case_id, line_id
   )
   select l.case_id as "caseId", l.currency, l.sequence, l.at, l.recorded_at as "recordedAt", l.kind, l.memo,
     b.reference, l.debit as "debitMinor", l.credit as "creditMinor", l.excess as "excessMinor",
     sum(l.debit - l.credit) over (partition by l.case_id order by l.sequence, l.first_id)::bigint as "balanceMinor"
   from line l
   left join lateral (
     select p.reference from ledger.payment_booking p where l.booked and p.lender_id = $1 and p.id = l.line_id limit 1
   ) b on true
   order by l.case_id, l.sequence, l.first_id`,
);
