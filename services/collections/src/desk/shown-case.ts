import { bucketOf, maskedPhone } from "@collections/cases";
import { publicId } from "@collections/database";
import type { SearchedCase } from "@collections/flows";
import { toDecimal } from "@collections/money";

/** Returns a found case as `case list --json` and the console show it. */
export function shownCase(found: SearchedCase, { hasContact }: { readonly hasContact: boolean }) {
  const { lender, holder, currency } = found;
  return {
    lenderCode: lender.code,
    sourceLoanNumber: found.sourceLoanNumber,
    caseId: publicId("case", found.id),
    status: found.status,
    fieldWork: found.fieldWork,
    outstandingAmount: toDecimal(found.outstandingMinor, currency),
    currency,
    dpd: found.dpd,
    bucket: bucketOf(found),
    branchCode: found.branchCode,
    postalCode: found.postalCode,
    borrowerName: found.borrowerName,
    borrowerPhone: hasContact ? found.borrowerPhone : maskedPhone(found.borrowerPhone),
    fieldPartnerId: holder ? publicId("fp", holder.id) : null,
    fieldPartnerName: holder?.displayName ?? null,
    promiseDueOn: found.promiseDueOn,
    lastVisitAt: found.lastVisitAt?.toISOString() ?? null,
    updatedAt: found.updatedAt.toISOString(),
    timeZone: lender.timeZone,
  };
}
