import { publicId } from "@collections/database";
import type { CaseOrderOutcome } from "@collections/flows";
import { toDecimal } from "@collections/money";
import { notFound, Refusal } from "../terminal/refusal.ts";
import { answer } from "../terminal/with-database.ts";

/** Prints the case after an order. Throws a Refusal if the order was refused. */
export function tellOutcome(outcome: CaseOrderOutcome, { loan, holder }: { loan: string; holder: string }): void {
  if (outcome.kind === "loan_not_found") throw notFound("loan", loan);
  if (outcome.kind === "field_partner_not_found") throw notFound("field partner", holder);
  if (outcome.kind === "field_partner_suspended") {
    const detail = `Field partner ${holder} is suspended: assign the case to another field partner, or resume this field partner first.`;
    throw new Refusal("FIELD_PARTNER_SUSPENDED", detail);
  }
  if (outcome.kind === "refused") throw new Refusal(outcome.refusal.code, outcome.refusal.detail);
  const { caseAfter } = outcome;
  const { assignedFieldPartnerId: fieldPartnerId, currency, sourceLoanNumber, status, fieldWork } = caseAfter;
  answer(
    {
      caseId: publicId("case", caseAfter.id),
      sourceLoanNumber,
      status,
      fieldWork,
      fieldPartnerId: fieldPartnerId === null ? null : publicId("fp", fieldPartnerId),
      outstandingAmount: toDecimal(caseAfter.outstandingMinor, currency),
      currency,
      sequence: Number(caseAfter.sequence),
    },
    `The case of ${sourceLoanNumber} is ${status.replaceAll("_", " ")}, field work is ${fieldWork}.`,
  );
}
