import { send, statement } from "@collections/database";
import type { Tx } from "@collections/entities";

/**
 * Erases the texts in which lenders and channels explained why a link of these cases was not made, or why its message
 * was not sent. Such a text may quote the borrower's phone number. The codes of the reasons stay.
 *
 * @example
 * eraseFailureDetails(tx, { lenderId, caseIds: [caseId] });
 */
export function eraseFailureDetails(
  tx: Tx,
  { lenderId, caseIds }: { readonly lenderId: string; readonly caseIds: readonly string[] },
): void {
  send(tx, eraseOfMessages, [lenderId, [...caseIds]]);
  send(tx, eraseOfLinks, [lenderId, [...caseIds]]);
}

const eraseOfMessages = statement(
  "payment-links.erase-failure-details",
  `update payment_links.link_delivery d set failure_detail = null
   where d.lender_id = $1 and d.failure_detail is not null and d.payment_link_id in (
     select l.id from payment_links.payment_link l where l.lender_id = $1 and l.case_id = any ($2::uuid[]))`,
);

const eraseOfLinks = statement(
  "payment-links.erase-unavailable-details",
  `update payment_links.payment_link l set unavailable_detail = null
   where l.lender_id = $1 and l.case_id = any ($2::uuid[]) and l.unavailable_detail is not null`,
);
