import { setTimeout as wait } from "node:timers/promises";
import type { CaseRead } from "../stand-in/case-service.ts";
import { fail, warn, type Check, type Finding } from "./check.ts";
import type { Event } from "../stand-in/event.ts";
import { acknowledged } from "./expectation.ts";
import type { StandIn } from "../stand-in/stand-in.ts";
import { arriveAt, isAt, POLL_MS, settledState } from "./state.ts";

/** Whether each event counts once and a loan only moves forward. contract: Receiver contract */
export const receiverOrderChecks: readonly Check[] = [
  {
    name: "receiver.duplicate",
    title: "The same event again is acknowledged, and changes nothing",
    why: "An event comes again whenever its answer got lost. An error would bring it once more, and adding it up would count a payment twice.",
    async run(service) {
      const { loan, events } = story(service, [1, 2]);
      return [
        ...(await deliverAll(service, "an event", [events[0]!])),
        ...(await deliverAll(service, "a payment of 100.25", [events[1]!])),
        ...(await deliverAll(service, "the same payment again, freshly signed", [events[1]!], { attempt: 2 })),
        ...(await arriveAt(service, [loan], 2, ONCE)),
      ];
    },
  },
  {
    name: "receiver.duplicate-at-once",
    title: "The same event five times at the same moment is acknowledged each time",
    why: "A slow answer and its retry can overlap. Who looks first and inserts then runs into its own unique index.",
    async run(service) {
      const { loan, events } = story(service, [1, 2]);
      const first = await deliverAll(service, "an event", [events[0]!]);
      const copies = Array.from({ length: 5 }, () => service.deliver("a payment, at the same moment", events[1]!));
      const made = await Promise.all(copies);
      return [
        ...first,
        ...made.flatMap((one) => acknowledged(one)).slice(0, 1),
        ...(await arriveAt(service, [loan], 2, ONCE)),
      ];
    },
  },
  {
    name: "receiver.retry",
    title: "A retry is taken although its first attempt was refused",
    why: "Each attempt has a timestamp and a signature of its own over the same body. An eventId must not count as known before its signature was right: a forger could make you skip the real one.",
    async run(service) {
      const { loan, events } = story(service, [1]);
      const key = { ...service.settings.key, secret: "sk_of_somebody_else" };
      await service.deliver("a first attempt with a wrong signature", events[0]!, { key });
      const made = await service.deliver("the second attempt, signed rightly", events[0]!, { attempt: 2 });
      return [...acknowledged(made), ...(await arriveAt(service, [loan], 1, VERIFY_FIRST))];
    },
  },
  {
    name: "receiver.replay",
    title: "A replay of an old event is acknowledged, and changes nothing",
    why: "Operators and you yourself can have events sent again, marked X-Service-Replay. They are older than what you hold.",
    async run(service) {
      const { loan, events } = story(service, [1, 2, 3]);
      const deliveries = await deliverAll(service, "three events in order", events);
      const made = await service.deliver("a replay of the second", events[1]!, { attempt: 2, replay: true });
      return [...deliveries, ...acknowledged(made), ...(await arriveAt(service, [loan], 3, FORWARD_ONLY))];
    },
  },
  {
    name: "receiver.out-of-order",
    title: "Events out of order are acknowledged, and the loan never goes back",
    why: "An event that waits for its retry lets later ones pass. What it says is old when it comes.",
    async run(service) {
      const { loan, events } = story(service, [1, 3, 2]);
      const [first, third, second] = events as [Event, Event, Event];
      const faults = await deliverAll(service, "event 1", [first]);
      faults.push(...(await deliverAfterGap(service, "event 3", third)));
      const between = service.stateIsProven ? await settledState(service, loan) : null;
      faults.push(...(await deliverAll(service, "event 2 after it", [second])));
      if (faults.length > 0 || !service.stateIsProven) return faults;
      const waits = service.cases === null && isAt(between, 1) && isAt(await settledState(service, loan), 2);
      return waits ? [UNREADABLE_CASE] : arriveAt(service, [loan], 3, FORWARD_ONLY);
    },
  },
  {
    name: "receiver.gap",
    title: "An event after a gap is acknowledged, and its amounts are taken as they stand",
    why: "What is missing may come hours later. The amounts of an event are totals, so the newest one is right by itself.",
    async run(service) {
      const { loan, events } = story(service, [1, 4]);
      const [first, fourth] = events as [Event, Event];
      const faults = await deliverAll(service, "event 1", [first]);
      faults.push(...(await deliverAfterGap(service, "event 4", fourth)));
      if (faults.length > 0 || !service.stateIsProven) return faults;
      const waits = service.cases === null && isAt(await settledState(service, loan), 1);
      return waits ? [UNREADABLE_CASE] : arriveAt(service, [loan], 4, ABSOLUTE);
    },
  },
  {
    name: "receiver.gap-healed",
    title: "After a gap the case is read, and its state is taken",
    why: "The case is newer than the event that shows the gap, and what was missed may never come.",
    skip: ({ servicePort }) => (servicePort === undefined ? "needs --service-port" : null),
    async run(service) {
      const { loan, events } = story(service, [1, 4]);
      service.event(loan, 5); // happens, and is never sent
      const faults = await deliverAll(service, "events 1 and 4, while the case is at 5", events);
      const read = await caseRead(service, loan);
      if (read === null) faults.push(fail("The case was not read.", READ_CASE));
      else if (read.fault !== null) faults.push(fail(`The case was read, and refused: ${read.fault}`, SIGN_CALLS));
      return faults.length > 0 ? faults : arriveAt(service, [loan], 5, TAKE_CASE);
    },
  },
];

function story(service: StandIn, sequences: number[]): { loan: string; events: Event[] } {
  const loan = service.newLoan();
  return { loan, events: sequences.map((sequence) => service.event(loan, sequence)) };
}

/** One after the other, as the service sends the events of one loan. */
async function deliverAll(
  service: StandIn,
  what: string,
  events: readonly Event[],
  deviation: { attempt?: number } = {},
): Promise<Finding[]> {
  const faults: Finding[] = [];
  for (const event of events) faults.push(...acknowledged(await service.deliver(what, event, deviation)));
  return faults.slice(0, 1);
}

/** A receiver that has to read the case first cannot do so where nobody answers for the service. */
async function deliverAfterGap(service: StandIn, what: string, event: Event): Promise<Finding[]> {
  const made = await service.deliver(what, event);
  const hasFailed = made.outcome.kind === "answer" && made.outcome.status >= 500;
  return hasFailed && service.cases === null ? [UNREADABLE_CASE] : acknowledged(made);
}

/** The last read of a loan's case, once there is one. */
async function caseRead({ cases, settings }: StandIn, loan: string): Promise<CaseRead | null> {
  const until = Date.now() + settings.stateLagMs;
  for (;;) {
    const read = cases?.reads.findLast((one) => one.loan === loan);
    if (read !== undefined || Date.now() > until) return read ?? null;
    await wait(POLL_MS);
  }
}

const ONCE =
  "Keep each eventId under a unique index, skip one that you have, and store totalCollected and outstandingAfter as they stand instead of adding amounts up.";
const VERIFY_FIRST = "Check the signature before you keep the eventId, and keep it together with the event.";
const FORWARD_ONLY = "Skip an event whose sequence is not above the one that you hold of its loan.";
const ABSOLUTE =
  "Take totalCollected and outstandingAfter as they stand; when numbers are missing, read GET /api/v1/partner/cases/{loan} and take its state if that is newer.";
const UNREADABLE_CASE = warn(
  "The event after the gap seems to wait until the case can be read, which this made-up loan cannot.",
  "Run this test with --service-port and your receiver with that address as the service: then the case can be read.",
);
const READ_CASE =
  "When the sequence is above yours by more than one, call GET /api/v1/partner/cases/{loan} of the service; start your receiver with http://127.0.0.1 and the port of --service-port as the service's address.";
const SIGN_CALLS =
  "Sign the call as the contract's Authentication says: METHOD, PATH with the loan percent-encoded as it is sent, timestamp, and nothing for the body.";
const TAKE_CASE = "Take the state of the case together with its sequence, and skip events up to that.";
