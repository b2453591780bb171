import { fail, type Check, type Finding } from "./check.ts";
import { ping } from "../stand-in/event.ts";
import { expectAcknowledged } from "./expectation.ts";
import { isAt, settledState, showsInstead } from "./state.ts";

/**
 * Checks that the receiver accepts events at all. All other checks of a receiver depend on this. contract: Receiver
 * contract
 */
export const receiverFirstChecks: readonly Check[] = [
  {
    name: "receiver.ping",
    title: "A signed ping is acknowledged",
    why: "The service sends a ping to test your callback: when you register it, when you ask for a ping, and every 15 minutes while it is suspended. Only a 2xx to a ping ends a suspension.",
    async run(service) {
      return expectAcknowledged(await service.deliver("a ping", ping(service.settings.lenderCode)));
    },
  },
  {
    name: "receiver.event",
    title: "A signed event is acknowledged",
    why: "An event that is not answered with a 2xx is sent again, at most seven times in all. 20 failures in a row suspend your callback.",
    async run(service) {
      return expectAcknowledged(
        await service.deliver("a case.created of a new loan", service.event(service.newLoan())),
      );
    },
  },
  {
    name: "receiver.state",
    title: "The state URL shows the state from an event",
    why: "Answers alone do not show whether an event was applied. The checks of duplicates and of order use the state URL.",
    skip: ({ state }) => (state === undefined ? "--state was not given; only answers are checked" : null),
    async run(service) {
      const loan = service.newLoan();
      const made = await service.deliver("a case.created of a new loan", service.event(loan));
      const faults: Finding[] = expectAcknowledged(made);
      if (faults.length > 0) return faults;
      const view = await settledState(service, loan);
      service.stateIsProven = isAt(view, 1);
      return service.stateIsProven
        ? []
        : [fail(`The state URL ${showsInstead(service, view, 1)}.`, SHOW_WHAT_IS_APPLIED)];
    },
  },
];

const SHOW_WHAT_IS_APPLIED =
  "Answer with your data of the loan: the sequence of the last event that you applied, and the status, totalCollected and outstandingAfter from that event. Leave out a field that you do not store.";
