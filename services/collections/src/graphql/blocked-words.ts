import type { BlockedReason } from "@collections/cases";
import type { Refusal } from "./user-error.ts";

const WORDS: Record<BlockedReason, string> = {
  ENDED: "The case has ended.",
  ON_HOLD: "The case is on hold: do not contact the borrower.",
  NOT_ASSIGNED: "The case is not assigned to you.",
  DO_NOT_CONTACT: "The borrower is not to be contacted for now.",
};

/** Why a case may not be worked, as its field partner reads it. */
export function blockedWords(reason: BlockedReason): string {
  return WORDS[reason];
}

/** The refusal of work on a case. A state machine's own code reads like the reason that it stands for. */
export function notWorkable(code: string): Refusal {
  const reason = code.replace(/^CASE_/, "");
  const message = reason in WORDS ? WORDS[reason as BlockedReason] : "The case may not be worked now.";
  return { code: "CASE_NOT_WORKABLE", message };
}
