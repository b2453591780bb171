import { query, send, statement } from "@collections/database";
import { tableOf, type Tx } from "@collections/entities";
import type { CurrencyCode } from "@collections/money";
import type { Earning } from "./earning.ts";
import { selectedEarning } from "./write-earnings.ts";
import type { Payout } from "./payout.ts";
import { PayoutEntity } from "./schema.ts";

/**
 * Locks a payout's reference until the transaction ends, even if no payout was recorded under it.
 *
 * @example
 * await lockReference(tx, "UTR402812345678");
 * const recorded = await payoutByReference(tx, "UTR402812345678");
 */
export async function lockReference(tx: Tx, reference: string): Promise<void> {
  await query(tx, lockReferenceHash, [reference]);
}

/**
 * Returns a field partner's credited earnings in one currency at all lenders, and locks them until the transaction
 * ends. With `before`, it returns only the earnings that were credited before that time, including amounts below 0. The
 * rows are locked in the order of lender and id, so that two payouts to one field partner cannot deadlock.
 *
 * @example
 * const { to: before } = spanOfDay("2026-11-30", "Asia/Kolkata");
 * const lines = await lockCredited(tx, { fieldPartnerId, currency: INR, before });
 */
export async function lockCredited(
  tx: Tx,
  owed: { readonly fieldPartnerId: string; readonly currency: CurrencyCode; readonly before?: Date | undefined },
): Promise<Earning[]> {
  const values = [owed.fieldPartnerId, owed.currency, owed.before?.toISOString() ?? null];
  const lines: Earning[] = [];
  for (const { lenderId } of await query<{ lenderId: string }>(tx, selectCreditors, values)) {
    lines.push(...(await query<Earning>(tx, selectCredited, [...values, lenderId])));
  }
  return lines;
}

/**
 * Inserts a payout and marks its earnings as paid out. Lock the earnings with `lockCredited` first.
 *
 * @example
 * const lines = await lockCredited(tx, { fieldPartnerId, currency: INR });
 * const order = { fieldPartnerId, currency: INR, reference: "UTR402812345678", paidOn: "2026-12-01", until: null };
 * if (lines.length > 0) payOut(tx, payoutOf(lines, order, now), lines);
 */
export function payOut(tx: Tx, payout: Payout, lines: readonly Earning[]): void {
  const { id, until, recordedAt: now, parts } = payout;
  const isInstant = until?.includes("T") === true;
  const untilColumns = { untilDay: isInstant ? null : until, untilInstant: isInstant ? new Date(until) : null };
  const shared = table.values({ ...payout, ...untilColumns }, SHARED);
  const linesOf = Map.groupBy(lines, ({ lenderId }) => lenderId);
  for (const part of parts) {
    const { lenderId } = part;
    send(tx, insertPayout, [...table.values(part, PART), ...shared]);
    send(tx, updatePaidOut, [lenderId, linesOf.get(lenderId)?.map((line) => line.id) ?? [], now, id]);
  }
}

// The lock is on a 64-bit hash. If two references have the same hash, one payout only waits for the other.
const lockReferenceHash = statement(
  "earnings.take-payout-reference",
  `select pg_advisory_xact_lock(hashtextextended('earnings.payout ' || $1, 0))`,
);

const IS_CREDITED = `e.field_partner_id = $1 and e.currency = $2 and e.status = 'credited'
     and ($3::timestamptz is null or e.credited_at < $3)`;

const selectCreditors = statement(
  "earnings.creditors",
  `select distinct e.lender_id as "lenderId" from earnings.earning e where ${IS_CREDITED} order by e.lender_id`,
);

const selectCredited = statement(
  "earnings.credited",
  `select ${selectedEarning("e")} from earnings.earning e
   where e.lender_id = $4 and ${IS_CREDITED}
   order by e.id for no key update`,
);

const table = tableOf(PayoutEntity);
const PART = ["lenderId", "lines", "amountMinor"] as const;
const SHARED = [
  "id",
  "fieldPartnerId",
  "currency",
  "reference",
  "paidOn",
  "untilDay",
  "untilInstant",
  "recordedAt",
] as const;
const INSERTED = [...PART, ...SHARED];

// One SQL statement per lender, because on a cluster the parts of a payout are on several nodes.
const insertPayout = statement(
  "earnings.add-payout",
  `insert into ${table.name} (${table.columnList(INSERTED)}) values (${table.parameterList(INSERTED)})`,
);

const updatePaidOut = statement(
  "earnings.pay-out",
  `update earnings.earning set status = 'paid_out', paid_out_at = $3::timestamptz, payout_id = $4::uuid
   where lender_id = $1 and id = any ($2) and status = 'credited'`,
);
