import { TIMESTAMP_TOLERANCE_MS } from "@collections/signing";
import { fail, warn, type Finding } from "./check.ts";
import type { Exchange } from "../stand-in/stand-in.ts";

const EXCERPT_CHARS = 160;

/**
 * Reports a failure unless the answer is a 2xx. The finding gives the advice `mend`. If the answer is a timeout, a
 * redirect or a 429, or if `mend` is missing, the finding gives general advice for that kind of answer instead.
 * contract: Delivery
 */
export function expectAcknowledged(made: Exchange, mend?: string): Finding[] {
  const { outcome } = made;
  if (outcome.kind === "failure") {
    const problem = `${subjectOf(made)} got no answer: ${outcome.detail}.`;
    return [fail(problem, outcome.isTimeout ? mendOfTimeout(made) : (mend ?? CHECK_THE_LOG))];
  }
  const { status } = outcome;
  if (isSuccess(status)) return [];
  const isByStatus = mend === undefined || isRedirect(status) || status === 429;
  return [
    fail(
      `${subjectOf(made)} was ${describeAnswer(made)} instead of 2xx.`,
      isByStatus ? mendOfStatus(made, status) : mend,
    ),
  ];
}

/**
 * Reports a failure unless the request was rejected with one of `statuses`. Any other 4xx is only a warning, because
 * it causes no harm. `mend` says how to fix an endpoint that accepted the request.
 */
export function expectRejected(made: Exchange, mend: string, statuses: readonly number[] = [401]): Finding[] {
  const { outcome } = made;
  const expected = statuses.join(" or ");
  if (outcome.kind === "failure") {
    return [
      fail(`${subjectOf(made)} got no answer: ${outcome.detail}.`, `Answer ${expected}. ${REJECT_WITHOUT_CRASH}`),
    ];
  }
  if (statuses.includes(outcome.status)) return [];
  if (isSuccess(outcome.status)) {
    return [fail(`${subjectOf(made)} was ${describeAnswer(made)}, as if it were valid.`, mend)];
  }
  const problem = `${subjectOf(made)} was ${describeAnswer(made)} instead of ${expected}.`;
  if (outcome.status >= 400 && outcome.status < 500) {
    return [
      warn(problem, `No harm is done, because the request is rejected. To tell the caller why, answer ${expected}.`),
    ];
  }
  return [fail(problem, `Answer ${expected}. ${REJECT_WITHOUT_CRASH}`)];
}

export function isSuccess(status: number): boolean {
  return status >= 200 && status <= 299;
}

export function isRedirect(status: number): boolean {
  return status >= 300 && status <= 399;
}

/** Returns the status with the beginning of the body, such as `answered 500 (“duplicate key”)`. */
export function describeAnswer(made: Exchange): string {
  const { outcome, mask } = made;
  if (outcome.kind === "failure") return outcome.detail;
  const { location } = outcome.headers;
  if (location !== undefined) return `answered ${outcome.status} (to ${mask(location)})`;
  const excerpt = excerptOf(made);
  return excerpt === "" ? `answered ${outcome.status}` : `answered ${outcome.status} (“${excerpt}”)`;
}

/** Returns the beginning of an answer's body on one line, with secrets masked. */
export function excerptOf({ outcome, mask }: Exchange): string {
  if (outcome.kind === "failure") return "";
  // Mask before cutting: a secret that is cut in half would not be masked.
  const text = mask(new TextDecoder().decode(outcome.body));
  const line = text.replaceAll(/[\s\p{Cc}\uFFFD]+/gu, " ").trim();
  return line.length > EXCERPT_CHARS ? `${line.slice(0, EXCERPT_CHARS).toWellFormed()}…` : line;
}

const REJECT_WITHOUT_CRASH =
  "Reject the request if anything fails during signature verification, instead of crashing. Examples are a missing header and a digest of the wrong length.";

const FIX_VERIFICATION =
  "Check that you use the complete secret of that key id. Sign the bytes as they arrived, before any parser reads them. Use the path of the request line without its query. Compare the timestamp in milliseconds with a correct clock.";

function subjectOf({ what }: Exchange): string {
  const text = what ?? "an event of another loan";
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}

function mendOfTimeout({ endpoint }: Exchange): string {
  if (endpoint === "reconcile") return "Reconcile the payments of the body faster, or set a longer --timeout.";
  return endpoint === "receiver"
    ? "Store the event, answer 2xx at once, and do the work afterwards."
    : "Make the link faster, or answer with an error in time. After the time limit the field partner shows your UPI code instead.";
}

const CHECK_THE_LOG =
  "Look in the logs of your server, and of the proxy in front of it, for the reason why the connection ended.";

function mendOfStatus({ endpoint, outcome, mask }: Exchange, status: number): string {
  if (isRedirect(status)) {
    const to = outcome.kind === "answer" ? mask(outcome.headers.location ?? "elsewhere") : "elsewhere";
    return `The service does not follow redirects: register the URL that your URL redirects to (${to}), or answer without a redirect.`;
  }
  if (status === 401 || status === 403) {
    const clock = outcome.kind === "answer" ? clockHint(outcome.headers.date) : "";
    const remedy = `${clock}${FIX_VERIFICATION}`;
    return endpoint === "mint" ? `Check that --mint-auth-header is the header that you registered. ${remedy}` : remedy;
  }
  const remedy = REMEDIES.get(status);
  if (remedy !== undefined) return remedy;
  if (status >= 500) return "Look in your server's log for the error that caused it.";
  return endpoint === "receiver"
    ? "Accept every event that is signed correctly: store it, answer 2xx, and decide afterwards what to do with it. This includes events of unknown loans and unknown kinds."
    : "Mint the link, or answer with the reason for not minting it. If your endpoint only mints for loans that it knows, name such a loan with --loan.";
}

/** Returns advice if the answer's Date header differs too much from our clock, else "". Either clock may be wrong. */
function clockHint(date: string | undefined): string {
  const aheadMs = Date.parse(date ?? "") - Date.now();
  if (!(Math.abs(aheadMs) > TIMESTAMP_TOLERANCE_MS)) return "";
  const minutes = Math.round(Math.abs(aheadMs) / 60_000);
  return `Your server's clock is ${minutes} minutes ${aheadMs > 0 ? "ahead of" : "behind"} this machine's clock: correct the wrong one. `;
}

const REMEDIES: ReadonlyMap<number, string> = new Map([
  [405, "Accept POST at this URL."],
  [413, "Accept bodies of at least 20 KB, also in the proxy in front of your server."],
  [415, "Accept Content-Type: application/json."],
  [429, "Do not rate-limit the service's address: events arrive in bursts, usually up to 50 at a time."],
]);
