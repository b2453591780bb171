import { maskedPhone } from "@collections/cases";
import { publicId } from "@collections/database";
import type { EntityManager } from "@collections/entities";
import { find, type Finding } from "@collections/flows";
import type { Lender } from "@collections/lenders";
import { amountText } from "./amount-text.ts";
import { shellQuoted } from "./shell-quoted.ts";

/** Something that was found, as `find --json` and the console show it. */
export interface ShownFinding {
  readonly kind: Finding["kind"];
  /** The lender's code; null for a field partner. */
  readonly lenderCode: string | null;
  /** A public id such as `case_…`, or the reference or link id. */
  readonly id: string;
  readonly sourceLoanNumber: string | null;
  readonly state: string;
  /** A short description for people: the borrower's name, an amount, the kind of an event, or the person's name. */
  readonly label: string;
  /** The arguments of the command that shows more. */
  readonly next: readonly string[];
}

/** The maximum length of a text to search for. */
export const MAX_TEXT_CHARACTERS = 200;

/** Returns the text to search for, or undefined unless it has 2 to 200 characters and no control characters. */
export function searchText(text: string): string | undefined {
  const found = text.normalize().trim();
  const isUsable = found.length >= 2 && found.length <= MAX_TEXT_CHARACTERS && !/[\p{Cc}\p{Cs}]/u.test(found);
  return isUsable ? found : undefined;
}

/** Returns the command that shows more of a finding, as a POSIX shell reads it. */
export function commandOf({ next }: Pick<ShownFinding, "next">): string {
  const words = next.map((text) => (/^[\w./:@-]+$/.test(text) ? text : shellQuoted(text)));
  return ["pnpm collections", ...words].join(" ");
}

const MOST_OF_A_KIND = 20;

/** Finds what a text names at some lenders. Returns undefined for a text that cannot be searched. */
export async function findings(
  em: EntityManager,
  lenders: readonly Lender[],
  given: string,
): Promise<ShownFinding[] | undefined> {
  const text = searchText(given);
  if (text === undefined) return undefined;
  const found = await find(em, text, { lenders, limit: MOST_OF_A_KIND });
  return found.map(shownFinding);
}

/** Returns a finding without the whole phone number of a person. */
export function shownFinding(finding: Finding): ShownFinding {
  if (finding.kind === "field_partner") {
    const { id, displayName, phone, state } = finding.fieldPartner;
    const personId = publicId("fp", id);
    return {
      kind: finding.kind,
      lenderCode: null,
      id: personId,
      sourceLoanNumber: null,
      state,
      label: `${displayName}, ${maskedPhone(phone)}`,
      next: ["field-partner", "show", personId],
    };
  }
  const { kind } = finding;
  const lenderCode = finding.lender.code;
  const ofLoan = (loan: string) => ({
    kind,
    lenderCode,
    sourceLoanNumber: loan,
    next: ["case", "show", lenderCode, loan],
  });
  switch (finding.kind) {
    case "case": {
      const { id, sourceLoanNumber, status, borrowerName } = finding.theCase;
      return { ...ofLoan(sourceLoanNumber), id: publicId("case", id), state: status, label: borrowerName };
    }
    case "visit": {
      const state = finding.hasEnded ? "ended" : "started";
      return { ...ofLoan(finding.loan), id: publicId("vis", finding.visitId), state, label: "" };
    }
    case "event": {
      const { eventId, stream, state, kind: label } = finding.delivery;
      const id = publicId("evt", eventId);
      return { ...ofLoan(stream), id, state, label, next: ["delivery", "show", id] };
    }
    case "reconciliation": {
      const id = publicId("rec", finding.runId);
      const next = ["payment", "reconciliation", lenderCode, id];
      return { kind, lenderCode, id, sourceLoanNumber: null, state: "stored", label: "", next };
    }
    case "payment": {
      const { sourceLoanNumber: loan, reference, amountMinor, currency } = finding.payment;
      const { remainingMinor } = finding;
      const state = remainingMinor === 0n ? "reversed" : remainingMinor < amountMinor ? "partly_reversed" : "booked";
      const next = ["payment", "show", lenderCode, loan, reference];
      return { ...ofLoan(loan), id: reference, state, label: amountText(amountMinor, currency), next };
    }
    case "reversal": {
      const { sourceLoanNumber: loan, reference, reversalReference, amountMinor, currency, reason } = finding.reversal;
      const next = ["payment", "show", lenderCode, loan, reference];
      const label = `${amountText(amountMinor, currency)} of ${reference}`;
      return { ...ofLoan(loan), id: reversalReference, state: reason, label, next };
    }
    case "link": {
      const { sourceLoanNumber, linkId, status, amountMinor, currency } = finding.link;
      const label = amountText(amountMinor, currency);
      return { ...ofLoan(sourceLoanNumber), id: linkId!, state: status, label };
    }
  }
}
