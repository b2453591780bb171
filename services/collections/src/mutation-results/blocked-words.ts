import type { FieldWorkRefusal } from "@collections/flows";
import type { Refusal } from "./refusal.ts";

const WORDS: Record<FieldWorkRefusal, string> = {
  ENDED: "The case has ended.",
  ON_HOLD: "The case is on hold: do not contact the borrower.",
  NOT_ASSIGNED: "The case is not assigned to you.",
  DO_NOT_CONTACT: "The borrower must not be contacted at the moment.",
  LENDER_SUSPENDED: "The lender is suspended: do not contact the borrower.",
};

/** Returns the text that tells a field partner why a case is not workable. */
export function blockedWords(reason: FieldWorkRefusal): string {
  return WORDS[reason];
}

/** Returns the refusal of work on a case. A code of the state machine is a reason with the prefix `CASE_`. */
export function notWorkable(code: string): Refusal {
  if (code === "LENDER_SUSPENDED") return { code, message: WORDS[code] };
  const reason = code.replace(/^CASE_/, "");
  const message = reason in WORDS ? WORDS[reason as FieldWorkRefusal] : "The case is not workable now.";
  return { code: "CASE_NOT_WORKABLE", message };
}
