import { type ClusterHealth, type FailedJobs, publicId } from "@collections/database";
import type { RebookedPayments, ReconciledWindow } from "@collections/bookings";
import type { OwedSum, TakenBackSum } from "@collections/earnings";
import type { AnchorState } from "@collections/ledger";
import type { SecretKind, UnreadableSecret } from "@collections/lenders";
import type { OwnMintFaults } from "@collections/payment-links";
import type { WebhookProblem, WebhookProblemCode } from "@collections/webhooks";
import type { Config } from "../settings/config.ts";
import { amountText } from "./amount-text.ts";
import { counted } from "./counted.ts";

/** A problem that doctor found, and its remedy. */
export interface DoctorProblem {
  readonly severity: "fault" | "warning";
  readonly code:
    | WebhookProblemCode
    | AnchorProblemCode
    | ClusterProblemCode
    | "JOBS_FAILED"
    | "JOBS_RETRYING"
    | "DEDUCTIONS_OWED"
    | "COMMISSIONS_TAKEN_BACK"
    | "REBOOKED_WITHOUT_FIELD_PARTNER"
    | "RECONCILIATION_DIFFERS"
    | "SECRET_UNREADABLE";
  /** Null if the problem is not about one lender. */
  readonly lenderCode: string | null;
  readonly detail: string;
  readonly remedy: string;
  readonly count: number;
  readonly since: Date | null;
}

/** Adds the remedy to a problem of webhooks. `codes` maps lender ids to lender codes. */
export function problemOfWebhooks(problem: WebhookProblem, codes: ReadonlyMap<string, string>): DoctorProblem {
  const { severity, code, tenantId: lenderId, detail, count, since } = problem;
  const lenderCode = lenderId === null ? null : (codes.get(lenderId) ?? lenderId);
  return { severity, code, lenderCode, detail, remedy: REMEDIES[code](lenderCode ?? ""), count, since };
}

/** Returns the problem to report if our own DNS or network fails the mint calls to a lender. */
export function problemOfMint({ count, since, detail }: OwnMintFaults, lenderCode: string): DoctorProblem {
  return {
    severity: "fault",
    code: "OWN_NETWORK_FAILS",
    lenderCode,
    detail: `Mint calls have failed on our own side since ${since.toISOString()}: ${count}. The last failure: ${detail}`,
    remedy: `${CHECK_OWN_NETWORK} A mint call is not repeated: field partners have to request these links again.`,
    count,
    since,
  };
}

/** Returns the problem to report for failing jobs of a queue. */
export function problemOfJobs({ queue, state, count, attempts, lastError }: FailedJobs): DoctorProblem {
  const said = lastError === null ? "" : ` Last error: ${lastError.replace(/\.$/, "")}.`;
  const about = { lenderCode: null, count, since: null, remedy: JOBS[queue] ?? OTHER_JOBS };
  if (state === "failed") {
    const detail = `${count} jobs of ${queue} have failed for good, after at most ${attempts} attempts.${said}`;
    return { severity: "fault", code: "JOBS_FAILED", detail, ...about };
  }
  const detail = `${count} jobs of ${queue} have failed up to ${attempts} times and are tried again.${said}`;
  return { severity: "warning", code: "JOBS_RETRYING", detail, ...about };
}

/** Returns the problem to report if the latest reconciliations of some windows have differences. */
export function problemOfReconciliations(windows: readonly ReconciledWindow[], lenderCode: string): DoctorProblem {
  const count = windows.reduce((sum, { differences }) => sum + differences, 0);
  const [first] = windows;
  const runId = publicId("rec", first!.runId);
  const detail =
    `The latest reconciliations of ${counted(windows.length, "window")} have ${counted(count, "difference")}. ` +
    `The first of these windows is ${first!.from.toISOString()} to ${first!.to.toISOString()}: ${runId}.`;
  const remedy =
    `collections payment reconciliation ${lenderCode} ${runId} shows the differences. Resolve them with the lender, and reconcile ` +
    "the same window again. A window is reported until its latest run has no difference, for a week at most.";
  return { severity: "warning", code: "RECONCILIATION_DIFFERS", lenderCode, detail, remedy, count, since: first!.from };
}

/** The maximum number of field partners that a problem names. */
const MOST_NAMED = 5;

/** Returns the problem to report if field partners have owed a lender money for long. */
export function problemOfOwed(
  { currency, owedMinor, fieldPartnerIds, since }: OwedSum,
  lenderCode: string,
): DoctorProblem {
  const detail =
    `Payments were reversed after their earnings had been paid out, and too little has been credited since: ` +
    `${amountText(owedMinor, currency)} are owed by ${namedFieldPartners(fieldPartnerIds)}.`;
  const remedy =
    "The next payouts to these field partners deduct the amounts automatically. collections payout preview <id> shows the amount of one person. If a person no longer works for the lender, agree on a repayment outside the service.";
  const count = fieldPartnerIds.length;
  return { severity: "warning", code: "DEDUCTIONS_OWED", lenderCode, detail, remedy, count, since };
}

/** Returns the problem to report if commissions were taken back after they had been paid out, and not deducted yet. */
export function problemOfTakenBack(
  { currency, takenBackMinor, payments, fieldPartnerIds, since }: TakenBackSum,
  lenderCode: string,
): DoctorProblem {
  const detail =
    `Reversals have taken back commissions of ${counted(payments, "payment")} after they had been paid out: ` +
    `${amountText(takenBackMinor, currency)} of ${namedFieldPartners(fieldPartnerIds)} are not deducted yet.`;
  const remedy = `The next payouts deduct the amounts automatically. If the lender reverses many payments that were paid out, ask it why: collections payment show ${lenderCode} <loan> <reference> shows the reversals of a payment.`;
  const about = { severity: "warning", code: "COMMISSIONS_TAKEN_BACK", lenderCode } as const;
  return { ...about, detail, remedy, count: payments, since };
}

/** Returns the problem to report if payments of field partners were reversed and booked again without a field partner. */
export function problemOfRebooked(
  { currency, payments, amountMinor, names, since }: RebookedPayments,
  lenderCode: string,
): DoctorProblem {
  const more = payments > names.length ? ` and ${payments - names.length} more` : "";
  const detail =
    `Payments of field partners were reversed as wrong_loan or entered_by_mistake, and booked again without a field partner: ` +
    `${counted(payments, "payment")} of ${amountText(amountMinor, currency)} in total, which earn no commission (${names.join(", ")}${more}).`;
  const remedy = `Ask the lender whether a field partner collected the money. If so, assign the loan, reverse the new booking, and confirm the payment again under another reference.`;
  const about = { severity: "warning", code: "REBOOKED_WITHOUT_FIELD_PARTNER", lenderCode } as const;
  return { ...about, detail, remedy, count: payments, since };
}

/** Returns the number of field partners and the public ids of the first ones. */
function namedFieldPartners(ids: readonly string[]): string {
  const named = ids.slice(0, MOST_NAMED).map((id) => publicId("fp", id));
  const more = ids.length > named.length ? ` and ${ids.length - named.length} more` : "";
  return `${counted(ids.length, "field partner")} (${named.join(", ")}${more})`;
}

/** Returns the problem to report for a secret that cannot be opened. `codes` maps lender ids to lender codes. */
export function problemOfSecret(
  { lenderId, kind, keyId, fault }: UnreadableSecret,
  codes: ReadonlyMap<string, string>,
): DoctorProblem {
  const lenderCode = codes.get(lenderId) ?? lenderId;
  const { means, again } = SECRETS[kind];
  const remedy =
    (fault.code === "UNKNOWN_MASTER_KEY"
      ? `Set MASTER_KEY_PREVIOUS to the key ${fault.masterKeyId} and run collections master-key rotate. If that key is lost: `
      : "") + again(lenderCode, keyId ?? "");
  const detail = `${keyId === null ? "" : `${keyId}: `}${means} ${fault.message}`;
  return { severity: "fault", code: "SECRET_UNREADABLE", lenderCode, detail, remedy, count: 1, since: null };
}

/** For each kind of secret: the effect if it is unreadable, and how to register a new one. */
const SECRETS: Record<SecretKind, { means: string; again: (code: string, keyId: string) => string }> = {
  API_KEY: {
    means: "This key cannot sign or verify. If it is the lender's only key, its events wait.",
    again: (code, keyId) =>
      `Create another key and hand it over: collections key create ${code}. Then revoke this one: collections key revoke ${keyId}`,
  },
  MINT_AUTH_HEADER: {
    means: "No link can be minted for this lender.",
    again: (code) => `Register the header again: collections lender update ${code} --mint-auth-header`,
  },
  WHATSAPP_TOKEN: {
    means: "No message is sent from this lender's WhatsApp account.",
    again: (code) => `Register the token again: collections lender update ${code} --whatsapp-token`,
  },
  WHATSAPP_APP_SECRET: {
    means: "The service rejects the status reports that Meta sends about this lender's messages.",
    again: (code) => `Register the secret again: collections lender update ${code} --whatsapp-app-secret`,
  },
  WHATSAPP_VERIFY_TOKEN: {
    means: "Meta cannot register the webhook of this lender's WhatsApp account.",
    again: (code) => `Register the token again: collections lender update ${code} --whatsapp-verify-token`,
  },
};

type ClusterProblemCode = "NODE_AWAY" | "TRANSACTION_PREPARED" | "TABLES_NOT_DISTRIBUTED";

/** Returns one problem for each node that does not answer, and one for each node with old prepared transactions. */
export function problemsOfCluster({ away, prepared }: ClusterHealth): DoctorProblem[] {
  const about = { severity: "fault", lenderCode: null } as const;
  const nodes = away.map((node): DoctorProblem => {
    const detail = `The node ${node} does not answer the coordinator. Requests of lenders whose rows are on this node are answered with 503.`;
    return { ...about, code: "NODE_AWAY", detail, remedy: BRING_NODE_BACK, count: 1, since: null };
  });
  const byNode = Map.groupBy(prepared, ({ node }) => node);
  const waiting = [...byNode].map(([node, transactions]): DoctorProblem => {
    const [oldest] = transactions;
    const since = oldest!.preparedAt;
    const detail =
      `On ${node}, prepared transactions over several nodes have not finished for more than a minute: ${transactions.length}, ` +
      `the oldest since ${since.toISOString()} (${oldest!.gid}). They hold their locks, and what they wrote cannot be read.`;
    const remedy = away.length > 0 ? `${BRING_NODE_BACK} ${RECOVER_PREPARED}` : RECOVER_PREPARED;
    return { ...about, code: "TRANSACTION_PREPARED", detail, remedy, count: transactions.length, since };
  });
  return [...nodes, ...waiting];
}

/**
 * Returns a problem if tables are not distributed as they should be. `misplaced` has one entry per statement that
 * `migrate --distribute` would send, or per reason why it refuses to distribute.
 */
export function problemsOfTables(misplaced: readonly string[]): DoctorProblem[] {
  if (misplaced.length === 0) return [];
  const detail = `Tables are not where they should be: ${misplaced.join("; ")}.`;
  const about = { severity: "fault", lenderCode: null, count: misplaced.length, since: null } as const;
  return [{ ...about, code: "TABLES_NOT_DISTRIBUTED", detail, remedy: DISTRIBUTE_AGAIN }];
}

const BRING_NODE_BACK = "Start the node, or replace it with its standby. Then everything continues by itself.";
const RECOVER_PREPARED =
  "Citus ends these transactions by itself, once per citus.recover_2pc_interval (a minute). If they do not end, run select recover_prepared_transactions() " +
  "on the coordinator; a gid that does not begin with citus_ belongs to another application.";
const DISTRIBUTE_AGAIN =
  "Run collections migrate --distribute --dry-run, which shows the remaining steps. Then run it without --dry-run. Restart the servers and workers afterwards.";

type AnchorProblemCode = "ANCHORS_NOT_SET" | "ANCHORS_OVERDUE";

/**
 * How late an anchor may be, in addition to LEDGER_ANCHOR_INTERVAL. This process reads its own LEDGER_ANCHOR_INTERVAL,
 * so the workers must have the same value.
 */
export const ANCHOR_LATE_MS = 15 * 60_000;

/** Returns a problem if the hash chains are not anchored outside the database, or were anchored too long ago. */
export function problemsOfAnchors(
  { anchoredAt, unanchoredSince }: AnchorState,
  {
    isSandbox,
    ledgerAnchor,
    ledgerAnchorIntervalMs,
  }: Pick<Config, "isSandbox" | "ledgerAnchor" | "ledgerAnchorIntervalMs">,
  now: Date,
): DoctorProblem[] {
  if (unanchoredSince === null) return [];
  const about = { lenderCode: null, count: 1, since: unanchoredSince };
  const isSet = ledgerAnchor !== undefined;
  if (anchoredAt === null && !isSet) {
    if (isSandbox) return [];
    const detail = "The hash chains are not anchored: if a superuser computes a chain again, nothing detects it.";
    return [{ severity: "warning", code: "ANCHORS_NOT_SET", detail, remedy: SET_ANCHOR, ...about }];
  }
  if (now.getTime() - unanchoredSince.getTime() < ledgerAnchorIntervalMs + ANCHOR_LATE_MS) return [];
  const last = anchoredAt === null ? "there is no anchor yet" : `the last anchor is from ${anchoredAt.toISOString()}`;
  const detail = `A block from ${unanchoredSince.toISOString()} is not anchored; ${last}.`;
  const remedy = isSet
    ? 'Look for "ledger chains not anchored" in the log of the workers, which says why. Nothing is lost: the next anchor covers this block. ' +
      "If the workers have another LEDGER_ANCHOR_INTERVAL, set it for this command too."
    : `Anchors were kept before. Set LEDGER_ANCHOR for the workers again. ${SAME_SETTINGS}`;
  return [{ severity: isSet ? "fault" : "warning", code: "ANCHORS_OVERDUE", detail, remedy, ...about }];
}

const SAME_SETTINGS = "Give this command the same LEDGER_ANCHOR and LEDGER_ANCHOR_INTERVAL.";

const SET_ANCHOR = `Set LEDGER_ANCHOR for the workers (file:/path/anchors.jsonl on another disk, or https://…). ${SAME_SETTINGS}`;

const REPORT =
  "Do not change the database, and report this problem: it is a bug, or somebody changed rows without the service.";
const START_WORKER =
  "Check that a process with ROLE=worker or ROLE=all is running and ready (/readyz), and read the errors in its log.";

const CHECK_OWN_NETWORK =
  "Check the network of the workers and their DNS servers (/etc/resolv.conf). No restart is needed: the servers are read again.";

const REMEDIES: Record<WebhookProblemCode, (code: string) => string> = {
  SEQUENCE_GAP: (code) => `To list each gap: collections ledger verify --lender ${code}. ${REPORT}`,
  SEQUENCE_DUPLICATE: (code) => `To list each duplicate: collections ledger verify --lender ${code}. ${REPORT}`,
  EVENT_WITHOUT_DELIVERY: () => `Ask the lender to read the cases of these loans (GET cases/{loan}). ${REPORT}`,
  DELIVERY_WITHOUT_EVENT: () =>
    `The event can no longer be sent: ask the lender to read the case (GET cases/{loan}). ${REPORT}`,
  TOTALS_MISMATCH: () => REPORT,
  NOT_PICKED_UP: () => START_WORKER,
  STUCK_LEASE: () => START_WORKER,
  RETRY_OVERDUE: () => START_WORKER,
  PROBE_OVERDUE: (code) => `${START_WORKER} Until then, use: collections endpoint probe ${code}.`,
  REPLAY_STALLED: () => START_WORKER,
  PARTITIONS_NOT_MADE: () =>
    `${START_WORKER} The routine is called "keep the partitions of webhooks"; until it runs, rows go to the default partition.`,
  OWN_NETWORK_FAILS: () =>
    `${CHECK_OWN_NETWORK} The deliveries are repeated, and the failures do not count against the lender.`,
  SUSPENDED: (code) =>
    `The lender was notified by e-mail. To see the cause and the remedy: collections endpoint show ${code}. After the repair: collections endpoint probe ${code}.`,
  NO_CALLBACK: (code) =>
    `Register it: collections lender update ${code} --callback-url https://…; no event is lost before that.`,
  OLD_EVENT: (code) => `To see why the last attempt failed: collections endpoint show ${code}.`,
};

/** Every code that doctor may report. docs/operations.md explains each code. */
export const PROBLEM_CODES: readonly string[] = [
  ...Object.keys(REMEDIES),
  "JOBS_FAILED",
  "JOBS_RETRYING",
  "DEDUCTIONS_OWED",
  "COMMISSIONS_TAKEN_BACK",
  "REBOOKED_WITHOUT_FIELD_PARTNER",
  "SECRET_UNREADABLE",
  "ANCHORS_NOT_SET",
  "ANCHORS_OVERDUE",
  "NODE_AWAY",
  "TRANSACTION_PREPARED",
  "TABLES_NOT_DISTRIBUTED",
];

const JOBS: Readonly<Record<string, string>> = {
  "webhooks.alert":
    'These jobs send e-mails to technical contacts: check SMTP_URL, MAIL_FROM and the addresses (collections lender show). The log has "webhook alert not sent" for each.',
  "webhooks.retry": "Nothing is lost: the sweep retries the deliveries. The log says why the jobs fail.",
};

const OTHER_JOBS =
  "The log of the workers says why. This problem disappears by itself, because finished jobs are deleted after a while.";
