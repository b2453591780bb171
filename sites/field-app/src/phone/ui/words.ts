import type { Calculation, CaseRow, EarningStatus, Money } from "../data/answers.ts";
import type { OutboxItem } from "../data/outbox.ts";
import { texts } from "../language/current.ts";
import { count, dayOf, isoDay, money, percent } from "../language/formats.ts";
import { textOf } from "./error-words.ts";

/** The outcomes of a visit, in groups. */
export const OUTCOMES = {
  paid: ["PAID_VIA_LINK", "PAID_ELSEWHERE_CLAIMED"],
  later: ["PROMISE_TO_PAY", "CALLBACK_REQUESTED"],
  nobody: ["NOT_AT_HOME", "DOOR_LOCKED", "SHIFTED", "ADDRESS_NOT_FOUND", "WRONG_PERSON"],
  noPayment: ["REFUSED_TO_PAY", "HARDSHIP", "DISPUTE", "DECEASED", "UNSAFE", "OTHER"],
} as const;

/** A small coloured label beside a case: its text and its colour. */
export interface Label {
  readonly text: string;
  readonly tone: "quiet" | "warn" | "good" | "tint";
}

/** Returns the most important reason to look at this case now. */
export function labelOf({ openPromise, dpd, workable, status, activeLink }: CaseFacts): Label {
  const { label, caseStatus } = texts();
  if (!workable) {
    const text = SAYS_WHY.has(status) ? textOf(caseStatus, status) : undefined;
    return { text: text ?? label.notNow, tone: status === "COLLECTED" ? "good" : "quiet" };
  }
  if (activeLink?.status === "PAID") return { text: label.linkPaid, tone: "good" };
  if (openPromise) return promiseLabel(openPromise.dueOn);
  if (activeLink) return { text: label.linkOut, tone: "tint" };
  return { text: pastDue(dpd), tone: "quiet" };
}

/** The statuses that say why a case may not be visited. */
const SAYS_WHY = new Set(["ON_HOLD", "COLLECTED", "CLOSED", "WITHDRAWN"]);

type CaseFacts = Pick<CaseRow, "openPromise" | "dpd" | "workable" | "status" | "activeLink">;

export function promiseLabel(dueOn: string): Label {
  const { dueToday, wasDue, dueOn: dueOnDay } = texts().label;
  const today = isoDay(new Date());
  if (dueOn === today) return { text: dueToday, tone: "warn" };
  if (dueOn < today) return { text: wasDue(dayOf(dueOn)), tone: "warn" };
  return { text: dueOnDay(dayOf(dueOn)), tone: "tint" };
}

export function pastDue(dpd: number | null): string {
  const { toVisit, pastDue: words } = texts().label;
  return dpd === null ? toVisit : words(dpd, count(dpd));
}

/** Returns why a case may not be visited. */
export function blockedWords({ blockedReason, blockedReasonCode }: BlockedFacts): string {
  const { blocked } = texts();
  return textOf(blocked, blockedReasonCode) ?? blockedReason ?? blocked.OTHER;
}

type BlockedFacts = Pick<CaseRow, "blockedReason" | "blockedReasonCode">;

export function outcomeWords(disposition: string | null): string {
  const { as, unfinished } = texts().outcome;
  return disposition === null ? unfinished : (textOf(as, disposition) ?? disposition);
}

export function deedWords({ mutation, input }: OutboxItem): string {
  const { deed, endedAs } = texts().waiting;
  return mutation === "completeVisit" ? endedAs(outcomeWords(String(input["disposition"]))) : deed[mutation];
}

/** Returns how an earning was calculated: "2.5% of ₹2,500.00". */
export function calculationWords({ percent: rate, base, baseBefore }: Calculation): string {
  const { percentOf, percentOfInstead } = texts().money;
  return baseBefore
    ? percentOfInstead(percent(rate), money(base), money(baseBefore))
    : percentOf(percent(rate), money(base));
}

/** Returns the text for the status of an earning; empty for a status of a later version of the service. */
export function earningWords(status: EarningStatus): string {
  return textOf(texts().money.status, status) ?? "";
}

/** Returns the amounts of all currencies as one text, or a dash if there are none. */
export function sums(amounts: readonly Money[]): string {
  return amounts.length === 0 ? texts().none : amounts.map(money).join(" + ");
}
