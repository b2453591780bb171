import { fail, type Check, type Finding } from "./check.ts";
import { ping } from "../stand-in/event.ts";
import { acknowledged } from "./expectation.ts";
import { isAt, settledState, showsInstead } from "./state.ts";

/** Whether the receiver takes anything at all. The others mean nothing before it does. contract: Receiver contract */
export const receiverFirstChecks: readonly Check[] = [
  {
    name: "receiver.ping",
    title: "A signed ping is acknowledged",
    why: "A ping tries your callback: when you register it, when you ask for one, and every 15 minutes while it is suspended. Only its 2xx ends a suspension.",
    async run(service) {
      return acknowledged(await service.deliver("a ping", ping(service.settings.lenderCode)));
    },
  },
  {
    name: "receiver.event",
    title: "A signed event is acknowledged",
    why: "What is not acknowledged with 2xx is sent again, seven times in all; 20 failures in a row suspend your callback.",
    async run(service) {
      return acknowledged(await service.deliver("a case.created of a new loan", service.event(service.newLoan())));
    },
  },
  {
    name: "receiver.state",
    title: "The state URL shows what an event said",
    why: "Answers alone do not tell what became of an event. The checks of duplicates and of order look here.",
    skip: ({ state }) => (state === undefined ? "--state was not given; only answers are checked" : null),
    async run(service) {
      const loan = service.newLoan();
      const made = await service.deliver("a case.created of a new loan", service.event(loan));
      const faults: Finding[] = acknowledged(made);
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
  "Answer with what you hold of the loan: sequence of the last event applied, and of status, totalCollected and outstandingAfter those that you keep, as the events had them.";
