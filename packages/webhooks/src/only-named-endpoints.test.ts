import { newId, transaction } from "@collections/database";
import { expect, test } from "vitest";
import { openTrial } from "../tests/trial.ts";
import {
  changeEndpoint,
  checkWebhooks,
  deliveryTotals,
  emit,
  listDeliveries,
  removeEndpoint,
  startReplay,
  upsertEndpoint,
} from "./index.ts";

const { database } = await openTrial();
const em = () => database.em();
const now = () => new Date();

/** A tenant with the named endpoints `books` and `crm`, whose two events wait: both for `crm`, one for `books`. */
async function aTenant({ unnamed = false } = {}): Promise<string> {
  const tenantId = newId();
  await transaction(em(), async (tx) => {
    if (unnamed) await upsertEndpoint(tx, { tenantId, url: null });
    await upsertEndpoint(tx, { tenantId, name: "crm", url: null });
    await upsertEndpoint(tx, { tenantId, name: "books", url: null, topics: ["invoice.*"] });
    const event = { tenantId, stream: "INV-1", occurredAt: now(), body: "{}" };
    await emit(tx, [
      { ...event, kind: "invoice.paid" },
      { ...event, kind: "case.closed" },
    ]);
  });
  return tenantId;
}

test("totals name the endpoints of a tenant without an unnamed one", async () => {
  const tenantId = await aTenant();
  const onlyNamed = ["books", "crm"];
  expect(await deliveryTotals(em(), tenantId)).toMatchObject({ published: 0, onlyNamed });
  expect(await deliveryTotals(em(), { tenantId })).toMatchObject({ published: 0, onlyNamed });
  expect(await deliveryTotals(em(), { tenantId, endpoint: "crm" })).not.toHaveProperty("onlyNamed");
  const other = await aTenant({ unnamed: true });
  expect(await deliveryTotals(em(), other)).toMatchObject({ published: 2 });
  expect(await deliveryTotals(em(), other)).not.toHaveProperty("onlyNamed");
  expect(await deliveryTotals(em(), newId())).not.toHaveProperty("onlyNamed");
});

test("empty lists name the endpoints of a tenant without an unnamed one", async () => {
  const tenantId = await aTenant();
  expect(await listDeliveries(em(), { tenantId }, now())).toEqual({
    deliveries: [],
    nextCursor: null,
    onlyNamed: ["books", "crm"],
  });
  expect(await listDeliveries(em(), { tenantId, endpoint: "crm", kind: "none" }, now())).not.toHaveProperty(
    "onlyNamed",
  );
  expect(await listDeliveries(em(), { tenantId: await aTenant({ unnamed: true }), kind: "none" }, now())).toEqual({
    deliveries: [],
    nextCursor: null,
  });
});

test("the endpoint `*` stands for all endpoints of a tenant in totals and lists", async () => {
  const tenantId = await aTenant({ unnamed: true });
  await aTenant({ unnamed: true });
  const all = { tenantId, endpoint: "*" };
  expect(await deliveryTotals(em(), all)).toMatchObject({ published: 5, waiting: 5, delivered: 0, withoutEndpoint: 0 });
  const listed = async (filter: object) => {
    const { deliveries } = await listDeliveries(em(), { ...all, ...filter }, now());
    return deliveries.map(({ kind, endpoint = null }) => `${kind} ${endpoint}`).toSorted((a, b) => a.localeCompare(b));
  };
  const everything = [
    "case.closed crm",
    "case.closed null",
    "invoice.paid books",
    "invoice.paid crm",
    "invoice.paid null",
  ];
  expect(await listed({})).toEqual(everything);
  expect(await listed({ stream: "INV-1" })).toEqual(everything);
  expect(await listed({ kind: "case.closed" })).toEqual(everything.slice(0, 2));
  await transaction(em(), (tx) => removeEndpoint(tx, { tenantId, name: null }));
  expect(await listed({ states: ["parked"] })).toEqual(["case.closed null", "invoice.paid null"]);
  expect(await deliveryTotals(em(), all)).toMatchObject({ published: 5, waiting: 3, parked: 2 });
});

test("pages of the endpoint `*` have every copy of an event", async () => {
  const all = { tenantId: await aTenant({ unnamed: true }), endpoint: "*" };
  const seen: string[] = [];
  let cursor: string | null | undefined;
  do {
    const page = await listDeliveries(em(), { ...all, limit: 1, ...(cursor && { cursor }) }, now());
    seen.push(...page.deliveries.map(({ kind, endpoint }) => `${kind} ${endpoint}`));
    cursor = page.nextCursor;
  } while (cursor !== null);
  expect(seen).toHaveLength(5);
  expect(new Set(seen).size).toBe(5);
});

test("checkWebhooks names the unchecked endpoints, and checks all with `*`", async () => {
  const tenantId = await aTenant();
  expect(await checkWebhooks(em(), { tenantId })).toMatchObject({ tenants: [], onlyNamed: ["books", "crm"] });
  const { tenants, problems, ...rest } = await checkWebhooks(em(), { tenantId, endpoint: "*" });
  expect(Object.fromEntries(tenants.map(({ endpoint, waiting }) => [endpoint, waiting]))).toEqual({
    books: 1,
    crm: 2,
  });
  expect(problems.map(({ code }) => code)).toEqual(["NO_CALLBACK", "NO_CALLBACK"]);
  expect(rest).not.toHaveProperty("onlyNamed");
});

test("startReplay and changeEndpoint name the endpoints if the unnamed one is missing", async () => {
  const tenantId = await aTenant();
  const replay = transaction(em(), (tx) => startReplay(tx, tenantId, {}, { requestedBy: "operator" }));
  await expect(replay).rejects.toThrow(
    'no unnamed webhook endpoint, only "books", "crm"; pass { tenantId, endpoint: "books" }',
  );
  const change = transaction(em(), (tx) => changeEndpoint(tx, { tenantId, url: null }));
  await expect(change).rejects.toMatchObject({ code: "ENDPOINT_NOT_FOUND", tenantId, endpoint: undefined });
  const wrong = { tenantId, endpoint: "crn" };
  const misspelled = transaction(em(), (tx) => startReplay(tx, wrong, {}, { requestedBy: "operator" }));
  await expect(misspelled).rejects.toThrow('has no webhook endpoint "crn"');
});
