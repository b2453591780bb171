import { emptyDatabase } from "@collections/testing";
import { Client } from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type CountingProxy, startCountingProxy } from "./counting-proxy.ts";

let proxy: CountingProxy;
let client: Client;

beforeAll(async () => {
  proxy = await startCountingProxy((await emptyDatabase()).url);
  client = new Client({ connectionString: proxy.url, pipeline: true });
  await client.connect();
});

afterAll(async () => {
  await client.end();
  await proxy.close();
});

test("the proxy counts pipelined statements as one round trip, and a prepared statement each time it is executed", async () => {
  const prepared = { name: "one", text: "select $1::integer as one" };
  await client.query("select 'outside'");
  const begun = client.query("begin");
  await Promise.all([begun, client.query({ ...prepared, values: [1] })]);
  await client.query({ ...prepared, values: [2] });
  await Promise.all([client.query({ ...prepared, values: [3] }), client.query("select 4"), client.query("commit")]);
  expect(proxy.transactions).toEqual([
    { texts: ["begin", prepared.text, prepared.text, prepared.text, "select 4", "commit"], roundTrips: 3 },
  ]);
});

test("the proxy remembers the last values of a prepared statement", async () => {
  const text = "select $1::text as a, $2::text as b";
  await client.query({ name: "two", text, values: ["first", "é"] });
  await client.query({ name: "two", text, values: ["second", null] });
  expect(proxy.latest("two")).toEqual({ name: "two", text, values: ["second", null] });
  expect(proxy.latest("unknown")).toBeUndefined();
});

test("the proxy holds statements back until `release` is called", async () => {
  proxy.hold();
  const answer = client.query("select 5 as five");
  await expect.poll(() => proxy.heldConnections()).toBe(1);
  proxy.release();
  expect((await answer).rows).toEqual([{ five: 5 }]);
  expect(proxy.heldConnections()).toBe(0);
});
