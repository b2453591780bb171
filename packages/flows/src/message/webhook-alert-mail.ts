import { publicId } from "@collections/database";
import type { Mail } from "@collections/messaging";
import { type AlertCause, type AlertFacts, remedyFor } from "@collections/webhooks";
import { onOneLine, quoted } from "./harmless-text.ts";
import { counted, localAndUtc, type WebhookAlert } from "./webhook-alert.ts";
import { nextSteps } from "./webhook-alert-next.ts";

const SHOWN_BODY_BYTES = 2_048;

/**
 * Returns the mail to a lender's technical contacts, without its recipient: what happened, why, what to do, and what
 * the service does next. It contains no data of borrowers and no secrets of the callback's URL. It quotes the
 * callback's answer. contract: Retry and suspension
 */
export function webhookAlertMail(alert: WebhookAlert): Pick<Mail, "subject" | "text"> {
  const { cause, environment, lender, facts } = alert;
  const sections = [
    `${onOneLine(lender.name)} (${lender.code}), environment ${environment}`,
    headline(alert),
    ...heldBackNote(alert),
    listed(particulars(alert)),
    ...diagnosis(facts),
    ["WHAT HAPPENS NEXT", ...nextSteps(alert)].join("\n\n"),
    ...lastAnswer(facts),
    `You get this mail because you are a technical contact of ${lender.code}. The operator of the service can change the contacts.`,
  ];
  return { subject: `[${lender.code} ${environment}] ${SUBJECTS[cause]}`, text: sections.join("\n\n") };
}

const SUBJECTS: Readonly<Record<AlertCause, string>> = {
  suspended: "Webhooks suspended: your callback keeps failing",
  parked: "A webhook is parked: every attempt failed",
  gone: "Your callback answered 410 Gone",
  recovered: "Webhooks recovered: your callback answers again",
};

function headline({ cause, facts: { attempts = 0, consecutiveFailures = 0 } }: WebhookAlert): string {
  switch (cause) {
    case "suspended":
      return `Deliveries to your callback are suspended: ${counted(consecutiveFailures, "attempt")} in a row failed. No event is lost.`;
    case "parked":
      return `An event is parked: ${counted(attempts, "attempt")} to deliver it failed. It is kept, but it is not sent again automatically.`;
    case "gone":
      return "Your callback answered 410, which means that it is gone permanently. The service handles this like any other failure.";
    case "recovered":
      return "Your callback answers again. The suspension is over, and the waiting events are sent automatically.";
  }
}

function heldBackNote({ heldBack }: WebhookAlert): string[] {
  if (heldBack === 0) return [];
  return [
    `The same happened ${counted(heldBack, "more time")} since the last mail of this kind. There is at most one such mail an hour.`,
  ];
}

type Particular = readonly [label: string, value: string];

function particulars({ cause, happenedAt, facts, endpoint, lender }: WebhookAlert): Particular[] {
  const at = (time: string) => localAndUtc(new Date(time), lender.timeZone);
  const url = facts.url ?? endpoint.url;
  const callback: Particular = ["Callback", url === null ? "none is registered" : withoutSecrets(url)];
  if (cause === "recovered") {
    return [callback, ["Suspended since", at(facts.since)], ["Recovered at", at(happenedAt)]];
  }
  return [
    callback,
    [cause === "parked" ? "Event created" : "Failing since", at(facts.since)],
    [HAPPENED[cause], at(happenedAt)],
    ...event(facts),
    ["Last answer", answerInWords(facts)],
  ];
}

const HAPPENED = { suspended: "Suspended at", parked: "Parked at", gone: "Answered at" } as const;

function event({ eventId, kind = "", stream: loan, sequence }: AlertFacts): Particular[] {
  if (eventId === undefined) return [];
  return [
    ["Event", publicId("evt", eventId)],
    ["", onOneLine(`${kind}, loan ${loan}, sequence ${sequence}`)],
  ];
}

function answerInWords({ status, errorDetail }: AlertFacts): string {
  if (typeof status === "number") return `HTTP ${status}`;
  return errorDetail === undefined ? "none" : `none. ${onOneLine(errorDetail)}`;
}

function listed(lines: readonly Particular[]): string {
  const width = Math.max(...lines.map(([label]) => label.length)) + 1;
  return lines.map(([label, value]) => `${(label && `${label}:`).padEnd(width)} ${value}`).join("\n");
}

/** Returns the cause and the remedy, worded as in the list of deliveries. */
function diagnosis({ errorCode, errorReason, errorDetail, status, location, url }: AlertFacts): string[] {
  if (errorCode === undefined) return [];
  const { cause, remedy } = remedyFor({
    errorCode,
    errorReason,
    errorDetail: errorDetail ?? null,
    status: status ?? null,
    headers: location === undefined ? null : { location },
    url: url ?? null,
  });
  return [`WHY\n\n${onOneLine(cause)}`, `WHAT TO DO\n\n${onOneLine(remedy)}`];
}

function lastAnswer({ status, body }: AlertFacts): string[] {
  if (typeof status !== "number") return [];
  const title = `LAST ANSWER: HTTP ${status}`;
  return [body ? `${title}, which began with\n\n${quoted(body, SHOWN_BODY_BYTES)}` : `${title}, without a body`];
}

/** Returns the URL without user name, password and query, which may be secrets. The path helps to find the receiver. */
function withoutSecrets(url: string): string {
  const parsed = URL.parse(url);
  return parsed === null ? "registered, but not a valid URL" : parsed.origin + parsed.pathname;
}
