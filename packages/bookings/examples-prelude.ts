// The declarations that the examples in the docstrings use. Each example is compiled together with this file.

import { transaction } from "@collections/database";
import type { EntityManager, Tx } from "@collections/entities";
import type { CurrencyCode } from "@collections/money";
import type * as own from "@collections/bookings";

declare const em: EntityManager;
declare const tx: Tx;
declare const lenderId: string;
declare const caseId: string;
declare const fieldPartnerId: string;
declare const INR: CurrencyCode;
declare const now: Date;
declare const booking: own.Booking;
declare const reversal: own.Reversal;
declare const balanceAsOf: Date;
declare const earning: own.EarningToPost;
declare const runId: string, previousRunId: string, window: own.ReconciliationWindow;
declare const run: own.NewReconciliationRun, comparison: own.Comparison;
declare const rows: readonly own.ReportedPayment[], items: readonly own.ComparedItem[];
declare const differences: readonly own.ReconciliationDifference[];
declare const booked: readonly own.BookedPayment[];
