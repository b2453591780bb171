import { newId, transaction } from "@collections/database";
import { expect, test } from "vitest";
import { openReceiver } from "../../tests/receiver.ts";
import { openTrial } from "../../tests/trial.ts";
import {
  type AlertJob,
  checkWebhooks,
  ConflictingNamesError,
  deliveryById,
  emit,
  eventsAt,
  listDeliveries,
  oldestUndelivered,
  previewReplay,
  startReplay,
  upsertEndpoint,
} from "../index.ts";
import { alertQueue, raiseAlert, withNewNames } from "./alert.ts";

const { database, dispatch } = await openTrial();
const now = new Date();
const event = { kind: "case.closed", occurredAt: now, body: "{}" };

test("inputs with the older names lenderId and loan mean the same as tenantId and stream", async () => {
  const lenderId = newId();
  const [emitted] = await transaction(database.em(), async (tx) => {
    await upsertEndpoint(tx, { lenderId, url: null });
    return emit(tx, [{ ...event, lenderId, loan: "LN-1" }]);
  });
  const { eventId } = emitted!;
  const em = database.em();
  const { deliveries } = await listDeliveries(em, { lenderId, loan: "LN-1" }, now);
  expect(deliveries).toMatchObject([{ eventId, tenantId: lenderId, stream: "LN-1" }]);
  expect(await eventsAt(em, lenderId, event.kind, [{ loan: "LN-1", sequence: 1n }])).toMatchObject([
    { event: { eventId } },
  ]);
  expect(await previewReplay(em, lenderId, { loan: "LN-1", states: ["delivered"] })).toBe(0);
  expect((await checkWebhooks(em, { lenderId })).tenants).toMatchObject([{ tenantId: lenderId }]);
});

test("outputs have the older names too", async () => {
  await using receiver = await openReceiver((response) => void response.writeHead(503).end());
  const tenantId = newId();
  const [emitted] = await transaction(database.em(), async (tx) => {
    await upsertEndpoint(tx, { tenantId, url: receiver.url });
    return emit(tx, [{ ...event, tenantId, stream: "LN-1", body: '{"loan":"LN-1"}' }]);
  });
  const em = database.em();
  const names = { tenantId, lenderId: tenantId, stream: "LN-1", loan: "LN-1" };
  expect(await deliveryById(em, tenantId, emitted!.eventId, now)).toMatchObject(names);
  expect(await oldestUndelivered(em, tenantId)).toMatchObject({ stream: "LN-1", loan: "LN-1" });
  const filter = { stream: "LN-1" };
  const replay = await transaction(em, (tx) => startReplay(tx, tenantId, filter, { requestedBy: "operator" }));
  expect(replay).toMatchObject(names);
  const { tenants, lenders } = await checkWebhooks(em, { tenantId });
  expect(lenders).toBe(tenants);
  await using running = dispatch();
  await receiver.arrived(1);
  await expect.poll(() => running.facts).toMatchObject([names]);
});

test.each([
  ["tenantId", (tenantId: string) => ({ tenantId, lenderId: newId(), stream: "LN-1" })],
  ["stream", (tenantId: string) => ({ tenantId, stream: "LN-1", loan: "LN-2" })],
])("rejects an input whose %s differs from its older name, and writes nothing", async (property, names) => {
  const tenantId = newId();
  await transaction(database.em(), (tx) => upsertEndpoint(tx, { tenantId, url: null }));
  const rejected = transaction(database.em(), (tx) => emit(tx, [{ ...event, ...names(tenantId) }]));
  await expect(rejected).rejects.toMatchObject({ name: "ConflictingNamesError", code: "CONFLICTING_NAMES", property });
  expect((await listDeliveries(database.em(), { tenantId }, now)).deliveries).toEqual([]);
  await expect(listDeliveries(database.em(), names(tenantId), now)).rejects.toThrow(ConflictingNamesError);
});

test("a new alert job also has the older names, and a job of an older process gets the current names", async () => {
  const lenderId = newId();
  const jobs: AlertJob[] = [];
  const working = database.jobs.work(alertQueue, { concurrency: 1 }, async ({ data }) => {
    jobs.push(data);
  });
  const facts = { since: now.toISOString(), loan: "LN-1" };
  await database.jobs.start();
  await transaction(database.em(), (tx) => raiseAlert(tx, { lenderId, cause: "parked", facts }));
  await expect.poll(() => jobs).toMatchObject([{ lenderId, facts: { loan: "LN-1" } }]);
  const job = {
    lenderId,
    alertId: newId(),
    cause: "parked",
    raisedAt: "",
    happenedAt: "",
    facts,
    heldBack: 0,
  } as const;
  expect(withNewNames(job)).toEqual({ ...job, tenantId: lenderId, facts: { ...facts, stream: "LN-1" } });
  await (await working).stop(0);
});
