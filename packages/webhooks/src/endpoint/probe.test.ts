import { createOutbound } from "@collections/outbound";
import { newId, query, statement } from "@collections/database";
import { afterAll, expect, test } from "vitest";
import { endpointOf } from "./endpoint.ts";
import { probeDue, type Prober } from "./probe.ts";
import { openReceiver } from "../../tests/receiver.ts";
import { KEY_ID, openTrial, SECRET } from "../../tests/trial.ts";

const { database, addLender } = await openTrial();
const outbound = createOutbound({ allow: "127.0.0.1:*" });
afterAll(() => outbound.close());

const prober: Prober = {
  em: () => database.em(),
  sender: {
    outbound,
    signingKeyOf: () => ({ keyId: KEY_ID, secret: SECRET }),
    timeoutMs: 300_000,
    now: () => new Date(),
  },
  pingOf(lenderId) {
    const eventId = newId();
    return { lenderId, eventId, body: JSON.stringify({ eventId }) };
  },
  probeIntervalMs: 60_000,
};

test("if a probe cannot be made, probeDue makes all other probes and then throws the error", async () => {
  await using receiver = await openReceiver((response) => void setTimeout(() => response.writeHead(204).end(), 50));
  const lenderIds = await Promise.all(Array.from({ length: 3 }, () => suspended(receiver.url)));
  const pingOf: Prober["pingOf"] = (lenderId) => {
    if (lenderId === lenderIds[1]) throw new Error("its key cannot be read");
    return prober.pingOf(lenderId);
  };
  await expect(probeDue({ ...prober, pingOf })).rejects.toMatchObject({
    name: "AggregateError",
    message: "1 of 3 probes could not be made.",
    errors: [new Error("its key cannot be read")],
  });
  expect(await statesOf(lenderIds)).toEqual(["active", "suspended", "active"]);
});

test("an endpoint whose row is locked is skipped, and probed later", async () => {
  await using receiver = await openReceiver();
  const [held, free] = [await suspended(receiver.url), await suspended(receiver.url)];
  const holder = await database.pool.connect();
  await holder.query("begin");
  await holder.query("select from webhooks.endpoint where lender_id = $1 for update", [held]);
  expect(await probeDue(prober)).toBe(1);
  expect(await statesOf([held, free])).toEqual(["suspended", "active"]);
  await holder.query("rollback");
  holder.release();
  expect(await probeDue(prober)).toBe(1);
  expect(await statesOf([held])).toEqual(["active"]);
});

test("probeDue probes at most 64 endpoints at a time, in the order in which they became due", async () => {
  await using receiver = await openReceiver();
  const lenderIds = await Promise.all(Array.from({ length: 70 }, () => addLender(receiver.url)));
  for (const lenderId of lenderIds) await query(database.em(), suspend, [lenderId]);
  expect(await probeDue(prober)).toBe(64);
  expect(await statesOf(lenderIds.slice(64))).toEqual(Array.from({ length: 6 }, () => "suspended"));
  expect(await probeDue(prober)).toBe(6);
});

async function suspended(url: string): Promise<string> {
  const lenderId = await addLender(url);
  await query(database.em(), suspend, [lenderId]);
  return lenderId;
}

function statesOf(lenderIds: readonly string[]): Promise<unknown[]> {
  return Promise.all(
    lenderIds.map(async (lenderId) => {
      const endpoint = await endpointOf(database.em(), lenderId);
      return endpoint?.state;
    }),
  );
}

const suspend = statement(
  "webhooks-trial.suspend",
  `update webhooks.endpoint
   set state = 'suspended', suspended_at = now(), next_probe_at = now() where lender_id = $1`,
);
