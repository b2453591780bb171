import { setTimeout as wait } from "node:timers/promises";
import type { CaseRead } from "../stand-in/case-service.ts";
import { fail, warn, type Check, type Finding } from "./check.ts";
import { type Event, STORY } from "../stand-in/event.ts";
import { expectAcknowledged } from "./expectation.ts";
import type { StandIn } from "../stand-in/stand-in.ts";
import { expectStateAt, isAt, POLL_MS, settledState } from "./state.ts";

/** Checks that each event counts once, that a reversal is followed, and that a loan never goes back to an older state. contract: Receiver contract */
export const receiverOrderChecks: readonly Check[] = [
  {
    name: "receiver.duplicate",
    title: "A repeated event is acknowledged, and changes nothing",
    why: "An event is sent again whenever its answer was lost. If you answer with an error, it is sent once more. If you add its amount again, a payment counts twice.",
    async run(service) {
      const { loan, events } = loanWithEvents(service, [1, 2]);
      return [
        ...(await deliverAll(service, "an event", [events[0]!])),
        ...(await deliverAll(service, "a payment of 100.25", [events[1]!])),
        ...(await deliverAll(service, "the same payment again, freshly signed", [events[1]!], { attempt: 2 })),
        ...(await expectStateAt(service, [loan], 2, ONCE)),
      ];
    },
  },
  {
    name: "receiver.duplicate-at-once",
    title: "The same event, sent five times at once, is acknowledged each time",
    why: "A slow answer and a retry can overlap. If you look for the event first and insert it afterwards, the insert violates your unique index.",
    async run(service) {
      const { loan, events } = loanWithEvents(service, [1, 2]);
      const first = await deliverAll(service, "an event", [events[0]!]);
      const copies = Array.from({ length: 5 }, () => service.deliver("a payment, five times at once", events[1]!));
      const made = await Promise.all(copies);
      return [
        ...first,
        ...made.flatMap((one) => expectAcknowledged(one)).slice(0, 1),
        ...(await expectStateAt(service, [loan], 2, ONCE)),
      ];
    },
  },
  {
    name: "receiver.retry",
    title: "A retry is accepted although the first attempt was rejected",
    why: "Each attempt has its own timestamp and signature over the same body. Do not record an eventId before its signature is verified: a forged request could otherwise make you skip the real event.",
    async run(service) {
      const { loan, events } = loanWithEvents(service, [1]);
      const key = { ...service.settings.key, secret: "sk_of_somebody_else" };
      await service.deliver("a first attempt with a wrong signature", events[0]!, { key });
      const made = await service.deliver("the second attempt, with a valid signature", events[0]!, { attempt: 2 });
      return [...expectAcknowledged(made), ...(await expectStateAt(service, [loan], 1, VERIFY_FIRST))];
    },
  },
  {
    name: "receiver.replay",
    title: "A replay of an old event is acknowledged, and changes nothing",
    why: "Operators, and you yourself, can have old events sent again, with the header X-Service-Replay. They are older than your state of the loan.",
    async run(service) {
      const { loan, events } = loanWithEvents(service, [1, 2, 3]);
      const deliveries = await deliverAll(service, "three events in order", events);
      const made = await service.deliver("a replay of the second", events[1]!, { attempt: 2, replay: true });
      return [...deliveries, ...expectAcknowledged(made), ...(await expectStateAt(service, [loan], 3, FORWARD_ONLY))];
    },
  },
  {
    name: "receiver.reversal",
    title: "A reversed payment lowers the total and reopens the case, once",
    why: "The bank may take a payment back after the case was collected. If you never lower a total, or treat collected as final, your books show money that you do not have.",
    async run(service) {
      const loan = service.newLoan();
      const eventAt = (sequence: number) => service.event(loan, sequence);
      const before = Array.from({ length: STORY.cleared - 1 }, (_, index) => eventAt(index + 1));
      const [cleared, closed] = [eventAt(STORY.cleared), eventAt(STORY.closed)];
      const [reversed, reopened] = [eventAt(STORY.reversed), eventAt(STORY.reopened)];
      const faults = [
        ...(await deliverAll(service, null, before)),
        ...(await deliverAll(service, "a payment that clears the case", [cleared])),
        ...(await deliverAll(service, "its case.closed", [closed])),
        ...(await deliverAll(service, "a payment.reversed of this payment", [reversed])),
        ...(await deliverAll(service, "its case.reopened", [reopened])),
        ...(await deliverAll(service, "both again, freshly signed", [reversed, reopened], { attempt: 2 })),
      ].slice(0, 1);
      return faults.length > 0 ? faults : expectStateAt(service, [loan], STORY.reopened, FOLLOW_REVERSALS);
    },
  },
  {
    name: "receiver.out-of-order",
    title: "Events out of order are acknowledged, and the loan keeps its newest state",
    why: "While an event waits for its retry, later events may overtake it. The event's state is then outdated when it arrives.",
    async run(service) {
      const { loan, events } = loanWithEvents(service, [1, 3, 2]);
      const [first, third, second] = events as [Event, Event, Event];
      const faults = await deliverAll(service, "event 1", [first]);
      faults.push(...(await deliverAfterGap(service, "event 3", third)));
      const between = service.stateIsProven ? await settledState(service, loan) : null;
      faults.push(...(await deliverAll(service, "event 2 after event 3", [second])));
      if (faults.length > 0 || !service.stateIsProven) return faults;
      const waits = service.cases === null && isAt(between, 1) && isAt(await settledState(service, loan), 2);
      return waits ? [UNREADABLE_CASE] : expectStateAt(service, [loan], 3, FORWARD_ONLY);
    },
  },
  {
    name: "receiver.gap",
    title: "An event after a gap is acknowledged, and its amounts are stored unchanged",
    why: "The missing events may arrive hours later. The amounts of an event are totals, so you need only those of the newest event.",
    async run(service) {
      const { loan, events } = loanWithEvents(service, [1, 4]);
      const [first, fourth] = events as [Event, Event];
      const faults = await deliverAll(service, "event 1", [first]);
      faults.push(...(await deliverAfterGap(service, "event 4", fourth)));
      if (faults.length > 0 || !service.stateIsProven) return faults;
      const waits = service.cases === null && isAt(await settledState(service, loan), 1);
      return waits ? [UNREADABLE_CASE] : expectStateAt(service, [loan], 4, ABSOLUTE);
    },
  },
  {
    name: "receiver.gap-healed",
    title: "After a gap the case is read, and its state is stored",
    why: "The case is newer than the event after the gap, and the missing events may never arrive.",
    skip: ({ servicePort }) => (servicePort === undefined ? "needs --service-port" : null),
    async run(service) {
      const { loan, events } = loanWithEvents(service, [1, 4]);
      // Raises the sequence of the loan's case to 5 without sending event 5.
      service.event(loan, 5);
      const faults = await deliverAll(service, "events 1 and 4, while the case is at 5", events);
      const read = await caseRead(service, loan);
      if (read === null) faults.push(fail("The case was not read.", READ_CASE));
      else if (read.fault !== null)
        faults.push(fail(`The request for the case was rejected: ${read.fault}`, SIGN_CALLS));
      return faults.length > 0 ? faults : expectStateAt(service, [loan], 5, TAKE_CASE);
    },
  },
];

function loanWithEvents(service: StandIn, sequences: number[]): { loan: string; events: Event[] } {
  const loan = service.newLoan();
  return { loan, events: sequences.map((sequence) => service.event(loan, sequence)) };
}

/** Delivers events one after the other, as the service sends the events of one loan. */
async function deliverAll(
  service: StandIn,
  what: string | null,
  events: readonly Event[],
  deviation: { attempt?: number } = {},
): Promise<Finding[]> {
  const faults: Finding[] = [];
  for (const event of events) faults.push(...expectAcknowledged(await service.deliver(what, event, deviation)));
  return faults.slice(0, 1);
}

/**
 * Delivers an event after a gap in the loan's sequence. Without --service-port, an answer of 5xx is only a warning,
 * because the receiver may need to read the case, which only the service port serves.
 */
async function deliverAfterGap(service: StandIn, what: string, event: Event): Promise<Finding[]> {
  const made = await service.deliver(what, event);
  const hasFailed = made.outcome.kind === "answer" && made.outcome.status >= 500;
  return hasFailed && service.cases === null ? [UNREADABLE_CASE] : expectAcknowledged(made);
}

/**
 * Waits until the receiver has requested a loan's case, and returns the latest of these requests. Returns null if no
 * request comes within the time limit.
 */
async function caseRead({ cases, settings }: StandIn, loan: string): Promise<CaseRead | null> {
  const until = Date.now() + settings.stateLagMs;
  for (;;) {
    const read = cases?.reads.findLast((one) => one.loan === loan);
    if (read !== undefined || Date.now() > until) return read ?? null;
    await wait(POLL_MS);
  }
}

const ONCE =
  "Store each eventId under a unique index and skip known ones. Store totalCollected and outstandingAfter unchanged instead of adding amounts.";
const VERIFY_FIRST = "Verify the signature before you store the eventId, and store it together with the event.";
const FOLLOW_REVERSALS =
  "Store status, totalCollected and outstandingAfter of every event whose sequence is higher than the stored one: totalCollected may fall, and a collected case may be in_progress again.";
const FORWARD_ONLY = "Skip an event whose sequence is not higher than the stored sequence of its loan.";
const ABSOLUTE =
  "Store totalCollected and outstandingAfter unchanged. If sequences are missing, read GET /api/v1/partner/cases/{loan} and store its state if that is newer.";
const UNREADABLE_CASE = warn(
  "The receiver seems to delay the event after the gap until it can read the case, but the test loan has no case.",
  "Run this test with --service-port. In your receiver, set http://127.0.0.1 with that port as the service's base URL, so that it can read the case.",
);
const READ_CASE =
  "If an event's sequence is more than one above the stored one, call the service's GET /api/v1/partner/cases/{loan}. For this test, set http://127.0.0.1 with the port of --service-port as the service's base URL in your receiver.";
const SIGN_CALLS =
  "Sign the call as described in the contract's section Authentication: METHOD, PATH with the loan percent-encoded as sent, timestamp, and an empty body.";
const TAKE_CASE = "Store the case's state together with its sequence, and skip events up to that sequence.";
