import type { CaseRow, EarningStatus, LinkStatus, Shown } from "../data/answers.ts";
import type { OutboxItem } from "../data/outbox.ts";
import { dayOf, isoDay } from "./dates.ts";

/** The outcomes of a visit, in groups. */
export const OUTCOMES = [
  {
    title: "Paid",
    outcomes: { PAID_VIA_LINK: "Paid by the link", PAID_ELSEWHERE_CLAIMED: "Says it is paid already" },
  },
  { title: "Later", outcomes: { PROMISE_TO_PAY: "Promised to pay", CALLBACK_REQUESTED: "Wants a call" } },
  {
    title: "Nobody met",
    outcomes: {
      NOT_AT_HOME: "Not at home",
      DOOR_LOCKED: "Nobody opened",
      SHIFTED: "Has moved away",
      ADDRESS_NOT_FOUND: "No such address",
      WRONG_PERSON: "Somebody else lives here",
    },
  },
  {
    title: "No payment",
    outcomes: {
      REFUSED_TO_PAY: "Does not want to pay",
      HARDSHIP: "Cannot pay",
      DISPUTE: "Says the debt is wrong",
      DECEASED: "Has died",
      UNSAFE: "Not safe to stay",
      OTHER: "Something else",
    },
  },
] as const;

const OUTCOME_WORDS: Readonly<Record<string, string>> = Object.assign({}, ...OUTCOMES.map(({ outcomes }) => outcomes));

const STATUS_WORDS: Readonly<Record<string, string>> = {
  ON_HOLD: "On hold",
  COLLECTED: "Paid in full",
  CLOSED: "Closed",
  WITHDRAWN: "Taken back",
};

export const LINK_WORDS: Readonly<Record<LinkStatus, string>> = {
  REQUESTED: "Asking the lender",
  MINTED: "Ready to show",
  SENT: "Sent to the borrower",
  UNAVAILABLE: "No link this time",
  SUPERSEDED: "Replaced by a newer one",
  PAID: "Paid",
};

/** The words for the status of an earning. A later version of the service may have a status without words. */
export const EARNING_WORDS: Readonly<Partial<Record<EarningStatus, string>>> = {
  PENDING: "Pending",
  CREDITED: "Credited",
  PAID_OUT: "Paid out",
  REVERSED: "No longer counts",
};

const DEED_WORDS: Readonly<Record<OutboxItem["mutation"], string>> = {
  startVisit: "Start of the visit",
  completeVisit: "End of the visit",
  requestPaymentLink: "Payment link",
};

const METRES_PER_KM = 1_000;

/** A small coloured label beside a case: its text and its colour. */
export interface Label {
  readonly text: string;
  readonly tone: "quiet" | "warn" | "good" | "tint";
}

/** Returns the most important reason to look at this case now. */
export function labelOf({ openPromise, dpd, workable, status, activeLink }: Omit<CaseRow, "outstanding">): Label {
  if (!workable) return { text: STATUS_WORDS[status] ?? "Not now", tone: status === "COLLECTED" ? "good" : "quiet" };
  if (activeLink?.status === "PAID") return { text: "Link paid", tone: "good" };
  if (openPromise) return promiseLabel(openPromise.dueOn);
  if (activeLink) return { text: "Link is out", tone: "tint" };
  return { text: pastDue(dpd), tone: "quiet" };
}

export function promiseLabel(dueOn: string): Label {
  const today = isoDay(new Date());
  if (dueOn === today) return { text: "Promise due today", tone: "warn" };
  if (dueOn < today) return { text: `Promise was due ${dayOf(dueOn)}`, tone: "warn" };
  return { text: `Promised for ${dayOf(dueOn)}`, tone: "tint" };
}

export function pastDue(dpd: number | null): string {
  if (dpd === null) return "To visit";
  return dpd === 1 ? "1 day past due" : `${dpd} days past due`;
}

export function outcomeWords(disposition: string | null): string {
  return disposition === null ? "Not ended yet" : (OUTCOME_WORDS[disposition] ?? disposition);
}

export function deedWords({ mutation, input }: OutboxItem): string {
  if (mutation !== "completeVisit") return DEED_WORDS[mutation];
  return `${DEED_WORDS[mutation]}: ${outcomeWords(String(input["disposition"])).toLowerCase()}`;
}

/** Returns the amounts of all currencies as one text, or a dash if there are none. */
export function sums(amounts: readonly Shown[]): string {
  return amounts.length === 0 ? "–" : amounts.map(({ display }) => display).join(" + ");
}

export function distance(metres: number): string {
  if (metres < METRES_PER_KM) return `${Math.round(metres / 10) * 10} m`;
  return `${(metres / METRES_PER_KM).toFixed(metres < 10 * METRES_PER_KM ? 1 : 0)} km`;
}
