import { fail, warn, type Check, type Finding } from "./check.ts";
import type { Event } from "./event.ts";
import { acknowledged } from "./expectation.ts";
import type { StandIn } from "./stand-in.ts";
import { arriveAt, isAt, settledState, showsInstead } from "./state.ts";

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
      const early = await deliverAll(service, "events 1 and 3", events.slice(0, 2));
      const before = service.stateIsProven ? await settledState(service, loan) : null;
      const late = await deliverAll(service, "event 2 after them", events.slice(2));
      if (!service.stateIsProven) return [...early, ...late];
      const waits = isAt(before, 1) && isAt(await settledState(service, loan), 2);
      return [...early, ...late, ...(waits ? [WAITS_FOR_CASE] : await arriveAt(service, [loan], 3, FORWARD_ONLY))];
    },
  },
  {
    name: "receiver.gap",
    title: "An event after a gap is acknowledged, and its amounts are taken as they stand",
    why: "What is missing may come hours later. The amounts of an event are totals, so the newest one is right by itself.",
    async run(service) {
      const { loan, events } = story(service, [1, 4]);
      const deliveries = await deliverAll(service, "events 1 and 4 of a loan", events);
      if (!service.stateIsProven) return deliveries;
      const view = await settledState(service, loan);
      if (isAt(view, 1)) return [...deliveries, WAITS_FOR_CASE];
      const faults = isAt(view, 4) ? [] : [fail(`The state URL ${showsInstead(view, 4)}.`, ABSOLUTE)];
      return [...deliveries, ...faults];
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

const ONCE =
  "Keep each eventId under a unique index, skip one that you have, and store totalCollected and outstandingAfter as they stand instead of adding amounts up.";
const VERIFY_FIRST = "Check the signature before you keep the eventId, and keep it together with the event.";
const FORWARD_ONLY = "Skip an event whose sequence is not above the one that you hold of its loan.";
const ABSOLUTE =
  "Take totalCollected and outstandingAfter as they stand; when numbers are missing, read GET /api/v1/partner/cases/{loan} and take its state if that is newer.";
const WAITS_FOR_CASE = warn(
  "The state URL still shows event 1: the later one seems to wait until the case can be read, which this made-up loan cannot.",
  "Take the amounts of the event as they stand when the case cannot be read, or be sure that reading it is tried until it works.",
);
