import type { ReconciliationRun } from "@collections/bookings";
import { publicId } from "@collections/database";
import type { Lender } from "@collections/lenders";
import { toDecimal } from "@collections/money";

/** Returns a run as JSON, without its differences. */
export function shownRun({ code }: Lender, run: ReconciliationRun) {
  const { totals } = run;
  return {
    lenderCode: code,
    runId: publicId("rec", run.id),
    from: run.windowFrom.toISOString(),
    to: run.windowTo.toISOString(),
    startedAt: run.startedAt.toISOString(),
    requestedBy: run.requestedBy,
    fileName: run.fileName,
    counts: { matched: totals.matched, ...totals.lists },
    yours: totals.yours.map(shownTotal),
    ours: totals.ours.map(shownTotal),
  };
}

function shownTotal({ currency, count, amountMinor }: ReconciliationRun["totals"]["yours"][number]): object {
  return { currency, count, amount: toDecimal(amountMinor, currency) };
}
