import { setTimeout as sleep } from "node:timers/promises";
import { type Case, caseByLoan, type Disposition, openPromisesOf, type PromiseTerms } from "@collections/cases";
import { transaction } from "@collections/database";
import { dayIn } from "@collections/local-time";
import { AmountLiteral, exponentOf, toDecimal } from "@collections/money";
import { deliveriesOf, linkById, type PaymentLink } from "@collections/payment-links";
import { releaseCase } from "../case/change-case.ts";
import { requestPaymentLink } from "../link/request-payment-link.ts";
import { confirmPayments } from "../payment/confirm-payments.ts";
import { reversePayment } from "../payment/reverse-payment.ts";
import { completeVisit } from "../visit/complete-visit.ts";
import { settlePromiseNow } from "../visit/settle-promises.ts";
import { startVisit } from "../visit/start-visit.ts";
import { giveToOtherVisitor, SceneStopped, type Stage, visitorWithCase } from "./stage.ts";

/**
 * The scenes of the sandbox. Each plays what field partners, the borrower and the lender would do on a loan.
 *
 * @example
 * const isScene = SCENES.some((scene) => scene === "link-paid");
 */
export const SCENES = [
  "visit",
  "promise",
  "promise-kept",
  "promise-broken",
  "dispute",
  "link",
  "link-paid",
  "reversal",
  "reopening",
  "reassignment",
] as const;
/** One of SCENES. */
export type Scene = (typeof SCENES)[number];

const PLAYS: Readonly<Record<Scene, (stage: Stage) => Promise<void>>> = {
  visit: async (stage) => {
    await start(stage);
    await end(stage, "NOT_AT_HOME");
  },
  promise: async (stage) => {
    await promiseMade(stage);
  },
  "promise-kept": async (stage) => {
    const { amountMinor } = await promiseMade(stage);
    await pay(stage, amountMinor);
    await settle(stage);
  },
  "promise-broken": async (stage) => {
    await promiseMade(stage);
    await settle(stage);
  },
  dispute: async (stage) => {
    await start(stage);
    await end(stage, "DISPUTE");
    const { database, environment, lender, loan } = stage;
    const order = { lender, loan, reason: "The dispute of a scene is settled" };
    const outcome = await releaseCase(database.em(), order, environment);
    if (outcome.kind !== "done") throw new SceneStopped("The case could not be released after the dispute.");
  },
  link: async (stage) => {
    await mintedLink(stage);
    await end(stage, "CALLBACK_REQUESTED");
  },
  "link-paid": async (stage) => {
    const { amountMinor, linkId } = await mintedLink(stage);
    await pay(stage, amountMinor, linkId);
    await end(stage, "PAID_VIA_LINK");
  },
  reversal: async (stage) => {
    await pay(stage, someOf(await theCase(stage)));
    await reverse(stage);
  },
  reopening: async (stage) => {
    await pay(stage, (await theCase(stage)).outstandingMinor);
    await reverse(stage);
  },
  reassignment: giveToOtherVisitor,
};

/** Plays a scene through the flows that the service uses. Throws SceneStopped if the scene cannot go on. */
export function play(stage: Stage, scene: Scene): Promise<void> {
  return PLAYS[scene](stage);
}

async function start(stage: Stage): Promise<string> {
  const { database, environment, caseId, playId: visitId } = stage;
  const { id: fieldPartnerId } = await visitorWithCase(stage);
  const occurredAt = new Date();
  const outcome = await transaction(database.em(), (tx) =>
    startVisit(tx, { fieldPartnerId, caseId, visitId, occurredAt }, { environment }),
  );
  if (outcome.kind === "started") return fieldPartnerId;
  throw new SceneStopped("detail" in outcome ? outcome.detail : `The visit could not be started: ${outcome.kind}.`);
}

async function end(stage: Stage, disposition: Disposition, promise?: PromiseTerms): Promise<void> {
  const { database, environment, playId: visitId } = stage;
  const { id: fieldPartnerId } = await visitorWithCase(stage);
  const completion = { fieldPartnerId, visitId, disposition, occurredAt: new Date(), ...(promise && { promise }) };
  const outcome = await transaction(database.em(), (tx) => completeVisit(tx, completion, { environment }));
  if (outcome.kind === "completed") return;
  throw new SceneStopped("detail" in outcome ? outcome.detail : `The visit could not be ended: ${outcome.kind}.`);
}

/** Plays a visit that ends with a promise for the next day on the lender's clock. Returns the promise. */
async function promiseMade(stage: Stage): Promise<PromiseTerms> {
  await start(stage);
  const collected = await theCase(stage);
  const today = Date.parse(dayIn(stage.lender.timeZone, new Date()));
  const dueOn = new Date(today + DAY_MS).toISOString().slice(0, 10);
  const promise = { amountMinor: someOf(collected), currency: collected.currency, dueOn };
  await end(stage, "PROMISE_TO_PAY", promise);
  return promise;
}

const DAY_MS = 86_400_000;

/** Decides the promise at once. Otherwise its event would come on the day after the promised day. */
async function settle(stage: Stage): Promise<void> {
  const { database, lender, caseId } = stage;
  const key = { lenderId: lender.id, caseId };
  const promise = (await openPromisesOf(database.em(), [key])).get(caseId);
  if (!promise) throw new SceneStopped("A later visit has replaced the promise, so it is neither kept nor broken.");
  await settlePromiseNow(stage, lender, promise, new Date());
}

/** How long a scene waits for the message to the borrower, after the link is minted. */
const MESSAGE_WAIT_MS = 3_000;
/** How long the worker may take beyond the time limit of the mint call. */
const WORKER_WAIT_MS = 5_000;
const POLL_MS = 100;

/** Plays a visit with a link, which the worker mints at the lender's endpoint. Returns the minted link. */
async function mintedLink(stage: Stage): Promise<{ amountMinor: bigint; linkId: string }> {
  const { database, playId: visitId, mintTimeoutMs } = stage;
  const fieldPartnerId = await start(stage);
  const collected = await theCase(stage);
  const request = { fieldPartnerId, visitId, amountMinor: someOf(collected), currency: collected.currency };
  const outcome = await transaction(database.em(), (tx) => requestPaymentLink(tx, request, {}));
  if (outcome.kind !== "requested") throw new SceneStopped(REFUSED_LINK[outcome.kind]);
  await until(mintTimeoutMs + WORKER_WAIT_MS, async () => isAnswered((await linkById(database.em(), outcome.link))!));
  const answered = (await linkById(database.em(), outcome.link))!;
  const { linkId, unavailableReason, unavailableDetail } = answered;
  if (!isAnswered(answered))
    throw new SceneStopped("The link is not minted yet: no worker of the service has done it.");
  if (linkId === null) {
    throw new SceneStopped(`There is no link (${unavailableReason}): ${unavailableDetail ?? "see the event"}`);
  }
  await until(MESSAGE_WAIT_MS, async () => {
    const messages = await deliveriesOf(database.em(), [outcome.link]);
    return messages.every(({ status }) => status !== "queued");
  });
  return { amountMinor: request.amountMinor, linkId };
}

const REFUSED_LINK = {
  visit_not_found: "The visit of the scene was not found.",
  case_not_workable: "The case changed during the scene, and no link may be requested for it now.",
  too_many_links: "The case has had too many links in 24 hours. Play the scene on another loan.",
  amount_not_allowed: "The outstanding amount changed during the scene. Play the scene again.",
} as const;

function isAnswered({ status }: PaymentLink): boolean {
  return status !== "requested";
}

/** Polls until `isDone`, or until the time is over. */
async function until(waitMs: number, isDone: () => Promise<boolean>): Promise<void> {
  const waitUntil = performance.now() + waitMs;
  while (!(await isDone()) && performance.now() < waitUntil) await sleep(POLL_MS);
}

/** Confirms a payment in the lender's name. Its reference is `sandbox-` and the id of the play. */
async function pay(stage: Stage, amountMinor: bigint, linkId: string | null = null): Promise<void> {
  const { database, environment, lender, loan } = stage;
  const { currency } = await theCase(stage);
  const now = new Date();
  const confirmation = {
    lender,
    loan,
    amount: new AmountLiteral(toDecimal(amountMinor, currency)),
    amountIsMajorUnits: true,
    reference: referenceOf(stage),
    paidAt: now,
    mode: "upi",
    rawMode: "upi",
    linkId,
    warnings: [],
    acceptedAt: now,
  } as const;
  const [outcome] = await confirmPayments(database.em(), [confirmation], environment);
  if (outcome?.kind === "refused") throw new SceneStopped(outcome.detail);
}

async function reverse(stage: Stage): Promise<void> {
  const { database, environment, lender, loan } = stage;
  const now = new Date();
  const request = {
    lender,
    loan,
    reference: referenceOf(stage),
    reversalReference: `${referenceOf(stage)}-reversed`,
    reversedAt: now,
    amount: null,
    reason: "bounced",
    note: null,
    warnings: [],
    acceptedAt: now,
  } as const;
  const outcome = await reversePayment(database.em(), request, environment);
  if (outcome.kind === "refused") throw new SceneStopped(outcome.detail);
}

function referenceOf({ playId }: Stage): string {
  return `sandbox-${playId}`;
}

async function theCase({ database, lender, loan }: Stage): Promise<Case> {
  return (await caseByLoan(database.em(), lender.id, loan))!;
}

/**
 * Returns the amount that a scene pays or promises: a tenth of the outstanding amount in whole major units, at least
 * the minimum amount. A small rest is paid whole.
 */
function someOf({ outstandingMinor, minimumMinor, currency }: Case): bigint {
  const major = 10n ** BigInt(exponentOf(currency));
  const tenth = (outstandingMinor / (10n * major)) * major;
  const least = minimumMinor !== null && minimumMinor > tenth ? minimumMinor : tenth;
  const wanted = least > 0n ? least : outstandingMinor;
  return wanted < outstandingMinor ? wanted : outstandingMinor;
}
