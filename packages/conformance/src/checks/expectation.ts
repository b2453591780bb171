import { TIMESTAMP_TOLERANCE_MS } from "@collections/signing";
import { fail, warn, type Finding } from "./check.ts";
import type { Exchange } from "../stand-in/stand-in.ts";

const EXCERPT_CHARS = 160;

/**
 * Finds fault unless the answer is a 2xx. `mend` is for a refusal of what the check is about; without it, and for
 * redirects and time-outs, the answer itself says what to mend. contract: Delivery
 */
export function acknowledged(made: Exchange, mend?: string): Finding[] {
  const { outcome } = made;
  if (outcome.kind === "failure") {
    const problem = `${subjectOf(made)} got no answer: ${outcome.detail}.`;
    return [fail(problem, outcome.isTimeout ? mendOfTimeout(made) : (mend ?? LOOK_INTO_LOGS))];
  }
  const { status } = outcome;
  if (isSuccess(status)) return [];
  const isTold = mend === undefined || isRedirect(status) || status === 429;
  return [
    fail(`${subjectOf(made)} was ${answerInWords(made)} instead of 2xx.`, isTold ? mendOfStatus(made, status) : mend),
  ];
}

/**
 * Finds fault unless the request was refused with one of `statuses`. Another 4xx does no harm and is a warning.
 * `mend` is for a request that was taken as if it were good.
 */
export function refused(made: Exchange, mend: string, statuses: readonly number[] = [401]): Finding[] {
  const { outcome } = made;
  const expected = statuses.join(" or ");
  if (outcome.kind === "failure") {
    return [fail(`${subjectOf(made)} got no answer: ${outcome.detail}.`, `Answer ${expected}. ${REFUSE_CALMLY}`)];
  }
  if (statuses.includes(outcome.status)) return [];
  if (isSuccess(outcome.status)) {
    return [fail(`${subjectOf(made)} was ${answerInWords(made)}, as if it were good.`, mend)];
  }
  const problem = `${subjectOf(made)} was ${answerInWords(made)} instead of ${expected}.`;
  if (outcome.status >= 400 && outcome.status < 500) {
    return [warn(problem, `It is refused, so no harm is done; answer ${expected}, which says what is wrong.`)];
  }
  return [fail(problem, `Answer ${expected}. ${REFUSE_CALMLY}`)];
}

export function isSuccess(status: number): boolean {
  return status >= 200 && status <= 299;
}

export function isRedirect(status: number): boolean {
  return status >= 300 && status <= 399;
}

/** `answered 500 ("duplicate key")`: the status with the beginning of the body. */
export function answerInWords(made: Exchange): string {
  const { outcome, mask } = made;
  if (outcome.kind === "failure") return outcome.detail;
  const { location } = outcome.headers;
  if (location !== undefined) return `answered ${outcome.status} (to ${mask(location)})`;
  const excerpt = excerptOf(made);
  return excerpt === "" ? `answered ${outcome.status}` : `answered ${outcome.status} (“${excerpt}”)`;
}

/** The beginning of an answer's body on one line, without our secrets. */
export function excerptOf({ outcome, mask }: Exchange): string {
  if (outcome.kind === "failure") return "";
  // Masked before it is cut, or else half a secret could stay.
  const text = mask(new TextDecoder().decode(outcome.body));
  const line = text.replaceAll(/[\s\p{Cc}\uFFFD]+/gu, " ").trim();
  return line.length > EXCERPT_CHARS ? `${line.slice(0, EXCERPT_CHARS).toWellFormed()}…` : line;
}

const REFUSE_CALMLY =
  "Whatever goes wrong while a signature is checked, a missing header or digests of different length, is a refusal too, not a crash.";

const VERIFY_ANEW =
  "Check the secret of that key id, all of its text; sign the bytes as they arrived, before any parser; use the path of the request line without its query; compare the timestamp in milliseconds, with a clock that is right.";

function subjectOf({ what }: Exchange): string {
  const text = what ?? "an event of another loan";
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}

function mendOfTimeout({ endpoint }: Exchange): string {
  return endpoint === "receiver"
    ? "Store the event, answer 2xx at once, and do the work afterwards."
    : "Make the link faster, or give up in time: after this long the field partner has shown your UPI code instead.";
}

const LOOK_INTO_LOGS = "Look into the log of your server, and of the proxy before it, for why the connection ended.";

function mendOfStatus({ endpoint, outcome, mask }: Exchange, status: number): string {
  if (isRedirect(status)) {
    const to = outcome.kind === "answer" ? mask(outcome.headers.location ?? "elsewhere") : "elsewhere";
    return `Redirects are not followed: register the URL that it leads to (${to}), or serve it here.`;
  }
  if (status === 401 || status === 403) {
    const clock = outcome.kind === "answer" ? clockHint(outcome.headers.date) : "";
    const remedy = `${clock}${VERIFY_ANEW}`;
    return endpoint === "mint" ? `See that --mint-auth-header is the registered one. ${remedy}` : remedy;
  }
  const remedy = REMEDIES.get(status);
  if (remedy !== undefined) return remedy;
  if (status >= 500) return "Look into your log for the error behind it.";
  return endpoint === "receiver"
    ? "Take every event that is genuine: store it, answer 2xx, and decide afterwards what to do with it, also when it is of a loan or a kind that you do not know."
    : "Mint the link, or say why not; where your side has to know the loan, name one that it knows with --loan.";
}

/** The Date of an answer tells a clock that is too far from ours, whosever fault that is. */
function clockHint(date: string | undefined): string {
  const aheadMs = Date.parse(date ?? "") - Date.now();
  if (!(Math.abs(aheadMs) > TIMESTAMP_TOLERANCE_MS)) return "";
  const minutes = Math.round(Math.abs(aheadMs) / 60_000);
  return `Your server's clock is ${minutes} minutes ${aheadMs > 0 ? "ahead of" : "behind"} this machine's: set them right. `;
}

const REMEDIES: ReadonlyMap<number, string> = new Map([
  [405, "Take POST at this URL."],
  [413, "Take bodies of at least 20 KB, in the proxy before your server too."],
  [415, "Take Content-Type: application/json."],
  [429, "Do not limit the service by address: events come in bursts, 50 at a time are usual."],
]);
