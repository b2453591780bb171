import { sessionsWaitingForLocks, until } from "@collections/testing";
import { describe, expect, test } from "vitest";
import { newId, query, statement, transaction } from "@collections/database";
import { deliveryById } from "../insight/delivery-log.ts";
import { lease } from "../dispatch/lease.ts";
import { replayDelivery } from "./replay-delivery.ts";
import { type DeliveryRow, rowOf as rowIn, settleAs } from "../../tests/delivery-rows.ts";
import { openReceiver } from "../../tests/receiver.ts";
import { eventsOn, openTrial, type NumberedEvent } from "../../tests/trial.ts";

const trial = await openTrial();
const { database, otherDatabase } = trial;

describe("the replay of one event", () => {
  test.each(["parked", "delivered"])(
    "sends a %s event again, with the same bytes and marked as a replay",
    async (state) => {
      await using receiver = await openReceiver();
      const lenderId = await trial.addLender(receiver.url);
      const [event] = await publish(lenderId, "LN-1", 1, 1);
      await settle(lenderId, [event!], state);
      await using _dispatcher = trial.dispatch();
      expect(await replayOne(lenderId, event!.eventId)).toEqual({ state: "waiting" });
      await until(async () => (await stateOf(lenderId, event!)) === "delivered");
      expect(receiver.received).toMatchObject([
        { body: event!.body, headers: { "x-service-replay": "true", "x-service-attempt": "1" } },
      ]);
      const delivery = await deliveryById(database.em(), lenderId, event!.eventId, new Date());
      expect(delivery).toMatchObject({ attempts: 1, sequence: 1n, lastError: null });
      expect(delivery?.log).toMatchObject([{ number: 1, outcome: "delivered", replay: true }]);
    },
  );

  test("makes an event due that waits for its retry, and continues its ladder", async () => {
    const lenderId = await trial.addLender(null);
    const [event] = await publish(lenderId, "LN-1", 1, 1);
    await settle(lenderId, [event!], "retrying");
    expect(await replayOne(lenderId, event!.eventId)).toEqual({ state: "waiting" });
    expect(await rowOf(lenderId, event!)).toMatchObject({ state: "waiting", attempts: 7, replay: false, next: null });
  });

  test("changes nothing for an event that is due or in flight", async () => {
    const lenderId = await trial.addLender("http://127.0.0.1:9/");
    const [event] = await publish(lenderId, "LN-1", 1, 1);
    expect(await replayOne(lenderId, event!.eventId)).toEqual({ state: "waiting" });
    await lease(database.em(), { lenderId, count: 1, afterLoan: "", timeoutMs: 600_000, firstAttemptsOnly: false });
    const before = await rowOf(lenderId, event!);
    expect(await replayOne(lenderId, event!.eventId)).toEqual({ state: "in_flight" });
    expect(await rowOf(lenderId, event!)).toEqual(before);
    expect(before).toMatchObject({ attempts: 0, replay: false, claim: expect.any(String) as string });
  });

  test.each(["waiting", "retrying", "parked", "delivered"])(
    "sends a %s event once for a request and its repeats, and again for the next request",
    async (state) => {
      const lenderId = await trial.addLender(null);
      const [event] = await publish(lenderId, "LN-1", 1, 1);
      await settle(lenderId, [event!], state);
      const [first, next] = [newId(), newId()];
      expect(await replayOne(lenderId, event!.eventId, first)).toEqual({ state: "waiting" });
      await settle(lenderId, [event!], "delivered");
      expect(await replayOne(lenderId, event!.eventId, first)).toEqual({ state: "waiting" });
      expect(await stateOf(lenderId, event!)).toBe("delivered");
      expect(await replayOne(lenderId, event!.eventId, next)).toEqual({ state: "waiting" });
      expect(await rowOf(lenderId, event!)).toMatchObject({ state: "waiting", replay: true, attempts: 0 });
    },
  );

  test("returns undefined for another lender's event, an unknown event, and an event whose body is deleted", async () => {
    const [lenderId, otherId] = [await trial.addLender(null), await trial.addLender(null)];
    const [event] = await publish(lenderId, "LN-1", 1, 1);
    await settle(lenderId, [event!], "parked");
    expect(await replayOne(otherId, event!.eventId)).toBeUndefined();
    expect(await replayOne(lenderId, newId())).toBeUndefined();
    const orphan = { ...event!, eventId: newId() };
    await query(database.em(), insertOrphan, [lenderId, orphan.eventId, event!.eventId]);
    expect(await replayOne(lenderId, orphan.eventId)).toBeUndefined();
    expect(await stateOf(lenderId, event!)).toBe("parked");
    expect(await stateOf(lenderId, orphan)).toBe("parked");
  });

  test("waits for a transaction that completes the delivery, and then uses its result", async () => {
    const lenderId = await trial.addLender(null);
    const [event] = await publish(lenderId, "LN-1", 1, 1);
    const completing = await database.pool.connect();
    await completing.query("begin");
    await completing.query("update webhooks.delivery set state = 'delivered', settled_at = now() where id = $1", [
      event!.eventId,
    ]);
    const replaying = transaction(otherDatabase.em(), (tx) => replayDelivery(tx, lenderId, event!.eventId));
    await until(async () => (await sessionsWaitingForLocks(database.pool)) === 1);
    await completing.query("commit");
    completing.release();
    expect(await replaying).toEqual({ state: "waiting" });
    expect(await rowOf(lenderId, event!)).toMatchObject({ state: "waiting", replay: true });
  });
});

async function publish(lenderId: string, loan: string, from: number, to: number): Promise<NumberedEvent[]> {
  const events = eventsOn(lenderId, loan, from, to);
  await trial.publish(events);
  return events;
}

function replayOne(lenderId: string, eventId: string, requestId?: string) {
  return transaction(database.em(), (tx) => replayDelivery(tx, lenderId, eventId, requestId));
}

function settle(lenderId: string, events: readonly NumberedEvent[], state: string): Promise<void> {
  return settleAs(database, lenderId, events, state);
}

function rowOf(lenderId: string, event: NumberedEvent): Promise<DeliveryRow | undefined> {
  return rowIn(database, lenderId, event);
}

async function stateOf(lenderId: string, event: NumberedEvent): Promise<string | undefined> {
  return (await rowOf(lenderId, event))?.state;
}

const insertOrphan = statement(
  "webhooks-trial.insert-orphan",
  `insert into webhooks.delivery (lender_id, id, endpoint_id, loan, sequence, kind, state, settled_at)
   select lender_id, $2, endpoint_id, loan, sequence, kind, 'parked', now()
   from webhooks.delivery where lender_id = $1 and id = $3`,
);
