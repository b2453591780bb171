import { newId, publicId, query, statement } from "@collections/database";
import { verify } from "@collections/signing";
import { until } from "@collections/testing";
import { describe, expect, test } from "vitest";
import {
  backlogs,
  endpointOf,
  endpointWithLastFailure,
  lastFailedAttempt,
  oldestUndelivered,
  parseLadder,
  signedRequest,
} from "../index.ts";
import { openReceiver } from "../../tests/receiver.ts";
import { countIn, eventsOn, KEY_ID, openTrial, SECRET } from "../../tests/trial.ts";

const trial = await openTrial();
const { database } = trial;

describe("the backlog", () => {
  test("is counted by the states of deliveries and endpoints, and has the age of the oldest event without an attempt", async () => {
    expect(await backlogs(database.em())).toEqual([]);
    const [active, suspended] = [
      await trial.addLender("http://127.0.0.1:9/"),
      await trial.addLender("http://127.0.0.1:9/"),
    ];
    const unregistered = await trial.addLender(null);
    const events = eventsOn(active, "LN-1", 1, 5);
    await trial.publish([...events, ...eventsOn(suspended, "LN-1", 1, 2), ...eventsOn(unregistered, "LN-1", 1, 3)]);
    await query(database.em(), suspend, [suspended]);
    const [fresh, due, replayed, between, parked] = events.map(({ eventId }) => eventId);
    await age(fresh!, { minutes: 1 });
    await age(due!, { minutes: 20, attempts: 1 });
    await age(replayed!, { minutes: 30, replay: true });
    await age(between!, { minutes: 10, state: "retrying", attempts: 1 });
    await age(parked!, { minutes: 40, state: "parked" });

    const [ofActive, ofSuspended, ofUnregistered] = await backlogs(database.em());
    expect(ofActive).toMatchObject({ reach: "active", endpoints: 1, waiting: 3, retrying: 1, parked: 1 });
    expect(Math.round(ofActive!.oldestWaitingMs! / 60_000)).toBe(1);
    expect(ofSuspended).toMatchObject({ reach: "suspended", endpoints: 1, waiting: 2, retrying: 0, parked: 0 });
    expect(ofUnregistered).toMatchObject({ reach: "unregistered", endpoints: 1, waiting: 3 });

    expect(await oldestUndelivered(database.em(), active)).toMatchObject({
      eventId: fresh,
      loan: "LN-1",
      sequence: 1n,
    });
    await age(fresh!, { minutes: 1, state: "delivered" });
    await age(due!, { minutes: 1, state: "delivered" });
    expect(await oldestUndelivered(database.em(), active)).toMatchObject({ eventId: between, state: "retrying" });
  });
});

describe("the last failed attempt", () => {
  test("is the newest failed one, even if a later attempt delivered the event", async () => {
    let refuses = true;
    await using receiver = await openReceiver((response) => {
      response.writeHead(refuses ? 404 : 200, { "X-Reason": "moved" }).end();
      refuses = false;
    });
    const lenderId = await trial.addLender(receiver.url);
    const [event] = eventsOn(lenderId, "LN-1", 1, 1);
    expect(await lastFailedAttempt(database.em(), lenderId)).toBeUndefined();
    expect(await endpointWithLastFailure(database.em(), lenderId)).toEqual({
      ...(await endpointOf(database.em(), lenderId)),
      lastFailure: undefined,
    });
    await using _dispatcher = trial.dispatch({ ladder: parseLadder("0s,0s") });
    await trial.publish([event!]);
    await until(async () => (await countIn(database, lenderId, "retrying")) === 1);
    await query(database.em(), endWaits, [lenderId]);
    await until(async () => (await countIn(database, lenderId, "delivered")) === 1);
    expect(await lastFailedAttempt(database.em(), lenderId)).toMatchObject({
      eventId: event!.eventId,
      number: 1,
      status: 404,
      headers: { "x-reason": "moved" },
      errorCode: "NON_2XX",
    });
    expect(await endpointWithLastFailure(database.em(), lenderId)).toEqual({
      ...(await endpointOf(database.em(), lenderId)),
      lastFailure: await lastFailedAttempt(database.em(), lenderId),
    });
    expect(await endpointWithLastFailure(database.em(), newId())).toBeUndefined();
  });
});

test("signedRequest returns the request that an attempt would send: newly signed over its path, and marked as a replay", async () => {
  const now = new Date();
  const attempt = {
    lenderId: "",
    url: "https://acme.example/hooks/a%2Fb?x=1",
    eventId: "01890000-0000-7000-8000-000000000001",
    kind: "payment.collected",
    number: 3,
    body: `{"note":"it's ₹2,500"}`,
    replay: true,
  };
  const { headers, ...request } = await signedRequest(
    { signingKeyOf: () => ({ keyId: KEY_ID, secret: SECRET }), now: () => now },
    attempt,
  );
  expect(request).toEqual({ url: attempt.url, body: attempt.body });
  expect(headers).toMatchObject({
    "X-Service-Event": "payment.collected",
    "X-Service-Delivery": publicId("evt", attempt.eventId),
    "X-Service-Attempt": "3",
    "X-Service-Replay": "true",
    "X-Service-Timestamp": String(now.getTime()),
  });
  const signature = headers["X-Service-Signature"]!;
  const signed = { method: "POST", path: "/hooks/a%2Fb", timestamp: String(now.getTime()), body: attempt.body };
  expect(verify({ ...signed, secret: SECRET, signature })).toBe(true);
});

interface Age {
  readonly minutes: number;
  readonly state?: string;
  readonly attempts?: number;
  readonly replay?: boolean;
}

async function age(eventId: string, { minutes, state = "waiting", attempts = 0, replay = false }: Age): Promise<void> {
  await query(database.em(), ageDelivery, [eventId, minutes, state, attempts, replay]);
}

const ageDelivery = statement(
  "backlog-test.age",
  `with clock as materialized (select now() + interval '1 hour' as in_an_hour)
   update webhooks.delivery
   set created_at = now() - $2 * interval '1 minute', state = $3, attempts = $4, replay = $5,
     next_attempt_at = case when $3 = 'retrying' then clock.in_an_hour end
   from clock
   where id = $1`,
);

const suspend = statement(
  "backlog-test.suspend",
  `update webhooks.endpoint set state = 'suspended' where lender_id = $1`,
);

const endWaits = statement(
  "backlog-test.end-waits",
  `update webhooks.delivery set state = 'waiting', next_attempt_at = null where lender_id = $1`,
);
