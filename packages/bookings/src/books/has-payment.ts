import { query, statement } from "@collections/database";
import type { EntityManager } from "@collections/entities";

/**
 * Returns whether a payment of a lender was ever booked.
 *
 * @example
 * if (!(await hasPayment(em, lenderId))) console.log("No payment was booked yet.");
 */
export async function hasPayment(em: EntityManager, lenderId: string): Promise<boolean> {
  const [row] = await query<{ isBooked: boolean }>(em, selectHasPayment, [lenderId]);
  return row!.isBooked;
}

const selectHasPayment = statement(
  "ledger.has-payment",
  `select exists (select from ledger.payment_booking p where p.lender_id = $1) as "isBooked"`,
);
