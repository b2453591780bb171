import { codeWords } from "../code-words.ts";

/** The words of each act that the audit records, by its code. */
export const ACT_WORDS: Readonly<Record<string, string>> = {
  "case.assign": "Case assigned",
  "case.close": "Case closed",
  "case.erased": "Personal data of a case erased",
  "case.hold": "Case put on hold",
  "case.release": "Case released",
  "case.unassign": "Case unassigned",
  "case_file.imported": "File of cases imported",
  "case_file.started": "Import of a file of cases started",
  "case_file.uploaded": "File of cases uploaded",
  "cases.erased": "Personal data of ended cases erased",
  "contact.revealed": "Contact data shown",
  "delivery.replayed": "Event sent again",
  "endpoint.mint_tested": "Mint endpoint tested",
  "endpoint.probe_started": "Test call of the callback started",
  "endpoint.probed": "Callback tested",
  "endpoint.resumed": "Callback resumed",
  "field_partner.created": "Field partner created",
  "field_partner.resumed": "Field partner resumed",
  "field_partner.suspended": "Field partner suspended",
  "field_partner.updated": "Field partner changed",
  "key.created": "API key created",
  "key.debugged": "Signature debugger opened for an API key",
  "key.retiring": "End of an API key set",
  "key.revoked": "API key revoked",
  "key.signing": "API key chosen for signing",
  "ledger.extended": "Hash chain of the ledger extended",
  "lender.created": "Lender created",
  "lender.resumed": "Lender resumed",
  "lender.suspended": "Lender suspended",
  "lender.updated": "Settings of the lender changed",
  "master_key.replaced": "Secrets sealed with another master key",
  "master_key.rotated": "Master key rotated",
  "operator.change_confirmed": "Change confirmed by a second person",
  "operator.change_declined": "Change declined",
  "operator.change_requested": "Change requested",
  "operator.link_created": "Sign-in link created",
  "operator.revoked": "Access revoked",
  "operator.signed_in": "Signed in",
  "operator.signed_out": "Signed out",
  "otp.limit_cleared": "Limit of sign-in codes cleared",
  "otp.not_sent": "Sign-in code not sent",
  "otp.sent": "Sign-in code sent",
  "otp.tries_used_up": "Sign-in code typed wrong too often",
  "payment.moved": "Payment moved",
  "payment.reversed": "Payment reversed",
  "payment_file.uploaded": "File of payments uploaded",
  "payout.recorded": "Payout recorded",
  "reconciliation.confirm_started": "Booking of missing payments started",
  "reconciliation.confirmed": "Missing payments booked",
  "reconciliation.run": "Payments compared",
  "replay.cancelled": "Replay of events cancelled",
  "replay.started": "Replay of events started",
  "sandbox.play_started": "Scene of the sandbox started",
  "sandbox.played": "Scene of the sandbox played",
  "session.ended": "Session of the app ended",
  "session.started": "Session of the app started",
};

/** The acts whose codes begin with the same word, for a choice. */
export interface ActGroup {
  /** The beginning of the codes, such as `case.`. */
  readonly beginning: string;
  readonly words: string;
  readonly acts: readonly (readonly [act: string, words: string])[];
}

/** Returns the known acts, grouped by the beginning of their codes. */
export function actGroups(): readonly ActGroup[] {
  const groups = Map.groupBy(Object.entries(ACT_WORDS), ([act]) => act.slice(0, act.indexOf(".") + 1));
  return [...groups].map(([beginning, acts]) => ({ beginning, words: GROUP_WORDS[beginning]!, acts }));
}

/** The words of each beginning of the codes above. */
const GROUP_WORDS: Readonly<Record<string, string>> = {
  "case.": "Cases",
  "case_file.": "Files of cases",
  "cases.": "Erasure of ended cases",
  "contact.": "Contact data",
  "delivery.": "Deliveries",
  "endpoint.": "Callback and mint endpoint",
  "field_partner.": "Field partners",
  "key.": "API keys",
  "ledger.": "Ledger",
  "lender.": "Lenders",
  "master_key.": "Master key",
  "operator.": "Operators",
  "otp.": "Sign-in codes",
  "payment.": "Payments",
  "payment_file.": "Files of payments",
  "payout.": "Payouts",
  "reconciliation.": "Reconciliations",
  "replay.": "Replays",
  "sandbox.": "Sandbox",
  "session.": "Sessions of the app",
};

/**
 * Returns the code of an act or of an event as words.
 *
 * @example
 * eventWords("case.hold"); // Case put on hold
 * eventWords("payment.collected"); // Payment collected
 */
export function eventWords(code: string): string {
  const words = ACT_WORDS[code] ?? codeWords(code.replaceAll(".", "_"));
  return words.charAt(0).toUpperCase() + words.slice(1);
}
