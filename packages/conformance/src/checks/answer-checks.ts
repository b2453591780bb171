import { fail, warn, type Check, type Finding } from "./check.ts";
import { describeAnswer, isRedirect } from "./expectation.ts";
import type { Exchange, StandIn } from "../stand-in/stand-in.ts";

/**
 * Returns the checks that send nothing: they look at all answers that the endpoint has given so far. contract: Limits,
 * Callback
 */
export function answerChecks(endpoint: Exchange["endpoint"]): readonly Check[] {
  return [
    {
      name: `${endpoint}.answer-time`,
      title: endpoint === "receiver" ? "Every answer begins in time" : "Every answer is complete in time",
      why:
        endpoint === "receiver"
          ? "After ten seconds an event counts as not delivered, and is sent again."
          : "After ten seconds the field partner can show only your UPI code. The service does not call a second time.",
      run: (service) => Promise.resolve(timeFindings(service, endpoint)),
      lookedAt: (service) => timesOf(service, endpoint),
    },
    {
      name: `${endpoint}.no-redirect`,
      title: "No answer is a redirect",
      why: "The service never follows a redirect, because it could lead a signed request anywhere. A redirect counts as a failure.",
      run: (service) => Promise.resolve(redirectFindings(service, endpoint)),
      lookedAt: (service) => ({
        sent: allOf(service, endpoint),
        cameBack: `redirects: ${redirectsOf(service, endpoint).length}`,
      }),
    },
  ];
}

function timesOf(service: StandIn, endpoint: Exchange["endpoint"]): { sent: string; cameBack: string } {
  const timesMs = answersOf(service, endpoint)
    .map(answerTimeMs)
    .toSorted((a, b) => a - b);
  const middleMs = timesMs[Math.floor(timesMs.length / 2)] ?? 0;
  const cameBack = `half of the answers within ${middleMs} ms, all of them within ${timesMs.at(-1) ?? 0} ms`;
  return { sent: allOf(service, endpoint), cameBack };
}

function allOf(service: StandIn, endpoint: Exchange["endpoint"]): string {
  return `all ${answersOf(service, endpoint).length} requests of the checks before this one`;
}

function answersOf(service: StandIn, endpoint: Exchange["endpoint"]): Exchange[] {
  return service.log.filter((made) => made.endpoint === endpoint);
}

/**
 * Returns how long the endpoint took, as the contract measures it. A receiver's time ends when the status line of its
 * answer has arrived. A mint endpoint's time ends when the body of its answer is complete.
 */
export function answerTimeMs({ endpoint, outcome }: Exchange): number {
  if (outcome.kind === "failure") return outcome.totalMs;
  return endpoint === "receiver" ? outcome.statusMs : outcome.totalMs;
}

function timeFindings(service: StandIn, endpoint: Exchange["endpoint"]): Finding[] {
  const { timeoutMs } = service.settings;
  const answers = answersOf(service, endpoint);
  const late = answers.filter(isLate);
  const slowestMs = Math.max(...answers.map(answerTimeMs));
  if (late.length > 0) {
    return [fail(`${late.length} of ${answers.length} requests were not answered within ${timeoutMs} ms.`, HURRY)];
  }
  if (slowestMs <= timeoutMs / 2) return [];
  return [warn(`The slowest of ${answers.length} answers took ${slowestMs} ms; the limit is ${timeoutMs} ms.`, HURRY)];
}

function isLate({ endpoint, outcome }: Exchange): boolean {
  if (outcome.kind === "failure") return outcome.isTimeout;
  return endpoint === "mint" && outcome.cut === "too slow";
}

function redirectFindings(service: StandIn, endpoint: Exchange["endpoint"]): Finding[] {
  const [first] = redirectsOf(service, endpoint);
  if (first === undefined) return [];
  const mend = "Register the URL that the redirect leads to, or make this URL answer without a redirect.";
  return [fail(`A request was ${describeAnswer(first)}.`, mend)];
}

function redirectsOf(service: StandIn, endpoint: Exchange["endpoint"]): Exchange[] {
  return answersOf(service, endpoint).filter(({ outcome }) => outcome.kind === "answer" && isRedirect(outcome.status));
}

const HURRY =
  "Answer before the slow work: store the request and do the rest in a job. Look for cold starts, locks and calls to other services before the answer.";
