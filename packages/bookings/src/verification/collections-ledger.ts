import { tableOf } from "@collections/entities";
import { defineLedger, type Ledger } from "@collections/ledger";
import { bookings } from "../books/booking.ts";
import { reversals } from "../books/reversal.ts";
import { transfers } from "../books/transfer.ts";
import { AnchorEntity, ChainBlockEntity } from "../schema.ts";
import { bookingChecks, type BookingProblemCode } from "./booking-checks.ts";
import { commissionChecks, type CommissionProblemCode } from "./commission-checks.ts";
import { reversalChecks, type ReversalProblemCode } from "./reversal-checks.ts";

/**
 * Extends and anchors the hash chains of the ledger of collections, and verifies the ledger. Each lender has a book,
 * and the id of the book is the lender's id. A chain covers the transfers, the payment bookings and the reversals.
 *
 * In addition to the general checks, `verify` compares bookings and reversals with transfers, and balances with the
 * amounts in bookings and reversals. It also checks the sequences of bookings, that each earning is first earned,
 * then credited, then paid out, that no step is made twice, and that each commission belongs to the field partner of its
 * booking and is the commission at the booking's rate. It does not check the rows of other domains (cases, earnings,
 * events).
 *
 * @example
 * const { rows, head } = await collectionsLedger.extendChain(em, lenderId);
 * if (rows > 0) console.log(`Books of ${lenderId}: block ${head?.number}, hash ${head?.hash}`);
 * const { ok, problems, totalProblems } = await collectionsLedger.verify(em, { book: lenderId });
 * if (!ok) console.error(`${totalProblems} rows do not fit`);
 * for (const { code, table, id, detail } of problems) console.error(code, table, id, detail);
 */
export const collectionsLedger: Ledger<
  BookingProblemCode | CommissionProblemCode | ReversalProblemCode,
  "bookings" | "reversals"
> = defineLedger({
  chainBlock: tableOf(ChainBlockEntity),
  anchor: tableOf(AnchorEntity),
  chained: [
    { noun: "transfer", table: transfers },
    { noun: "booking", table: bookings },
    { noun: "reversal", table: reversals },
  ],
  checks: [...bookingChecks, ...commissionChecks, ...reversalChecks],
});
