import type { Broken } from "./broken-lender.ts";
import { createMeeting } from "./meeting.ts";
import { type LenderEvent, lenderWith, TestLender, viewOf } from "./test-lender.ts";

const right = TestLender.prototype;
const meet = createMeeting();

/** Receivers that count an event twice, or let a loan go back to an older state. */
export const ORDER: Broken[] = [
  {
    fault: "answers 500 to a duplicate",
    lender: lenderWith({
      take(event) {
        return this.seen.has(event.eventId) ? [500, "duplicate key value"] : right.take.call(this, event);
      },
    }),
    caughtBy: "duplicate",
    and: ["duplicate-at-once", "replay", "reversal"],
  },
  {
    fault: "adds the amounts of all events, including duplicates",
    lender: lenderWith({
      take(event) {
        if (event.sourceLoanNumber !== null) this.apply(event.sourceLoanNumber, event);
        return [200];
      },
      apply(loan, event) {
        const held = this.views.get(loan);
        if (held?.sequence === event.sequence) this.views.set(loan, addedTo(held.totalCollected, event));
        else right.apply.call(this, loan, event);
      },
    }),
    caughtBy: "duplicate",
    and: ["duplicate-at-once"],
    run: { withState: true },
  },
  {
    fault: "looks for an event first and inserts it later",
    lender: lenderWith({
      async take(event) {
        const isKnown = this.seen.has(event.eventId);
        if (event.sequence === 2) await meet();
        if (isKnown) return [200];
        return this.seen.has(event.eventId) ? [500, "duplicate key value"] : right.take.call(this, event);
      },
    }),
    caughtBy: "duplicate-at-once",
  },
  {
    fault: "stores an eventId before it verifies the signature",
    lender: lenderWith({
      receive(request) {
        const { eventId } = JSON.parse(request.rawBody.toString("utf8")) as LenderEvent;
        if (this.seen.has(eventId)) return [200];
        if (!this.isGenuine(request)) this.seen.add(eventId);
        return right.receive.call(this, request);
      },
    }),
    caughtBy: "retry",
    run: { withState: true },
  },
  {
    fault: "rejects an event with a lower total",
    lender: lenderWith({
      take(event) {
        const held = this.views.get(event.sourceLoanNumber ?? "");
        const isLower = held && event.sequence > held.sequence && event.totalCollected < held.totalCollected;
        return isLower ? [422, "the total is lower"] : right.take.call(this, event);
      },
    }),
    caughtBy: "reversal",
  },
  {
    fault: "treats a collected case as final",
    lender: lenderWith({
      apply(loan, event) {
        const status = this.views.get(loan)?.status === "collected" ? "collected" : event.status;
        right.apply.call(this, loan, { ...event, status });
      },
    }),
    caughtBy: "reversal",
    run: { withState: true },
  },
  {
    fault: "subtracts a repeated reversal again",
    lender: lenderWith({
      take(event) {
        const held = this.views.get(event.sourceLoanNumber ?? "");
        if (event.kind !== "payment.reversed" || !held || !this.seen.has(event.eventId)) {
          return right.take.call(this, event);
        }
        held.totalCollected -= event.data.amount ?? 0;
        return [200];
      },
    }),
    caughtBy: "reversal",
    run: { withState: true },
  },
  {
    fault: "stores the event that arrived last",
    lender: lenderWith({ apply: forgetfully }),
    caughtBy: "out-of-order",
    run: { withState: true },
  },
  {
    fault: "stores the event that arrived last, including replays",
    lender: lenderWith({
      take(event) {
        if (event.sourceLoanNumber !== null) forgetfully.call(this, event.sourceLoanNumber, event);
        return [200];
      },
    }),
    caughtBy: "replay",
    and: ["out-of-order"],
    run: { withState: true },
  },
  {
    fault: "adds the amounts of events across a gap",
    lender: lenderWith({
      apply(loan, event) {
        const held = this.views.get(loan);
        if (event.sequence > (held?.sequence ?? 0)) this.views.set(loan, addedTo(held?.totalCollected ?? 0, event));
      },
    }),
    caughtBy: "gap",
    and: ["out-of-order", "reversal"],
    run: { withState: true },
  },
  {
    fault: "rejects an event after a gap",
    lender: lenderWith({
      take(event) {
        const held = this.views.get(event.sourceLoanNumber ?? "")?.sequence ?? 0;
        return event.sequence > held + 1 ? [409, "out of order"] : right.take.call(this, event);
      },
    }),
    caughtBy: "gap",
    and: ["out-of-order"],
  },
];

function forgetfully(this: TestLender, loan: string, event: LenderEvent): void {
  this.views.set(loan, viewOf(event));
}

function addedTo(totalCollected: number, event: LenderEvent): ReturnType<typeof viewOf> {
  return { ...viewOf(event), totalCollected: totalCollected + (event.data.amount ?? 0) };
}
