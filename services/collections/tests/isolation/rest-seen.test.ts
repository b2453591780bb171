import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { lenderById } from "@collections/lenders";
import { afterFile } from "@collections/testing";
import express from "express";
import type { ClientBase } from "pg";
import { beforeAll, describe, expect, test } from "vitest";
import { openApiDocument } from "../../src/rest/openapi/document.ts";
import type { App } from "../../src/app.ts";
import type { Endpoint } from "../../src/rest/endpoint/endpoint.ts";
import { endpointRouter } from "../../src/rest/endpoint/endpoint-router.ts";
import { ENDPOINTS } from "../../src/rest/v1/endpoints.ts";
import { testApp } from "../fixtures/fixture.ts";
import { asText, type Caller, findingsOf, send } from "./fixtures/isolation-findings.ts";
import { ownCalls, trialsOf } from "./fixtures/isolation-requests.ts";
import { changesAtB, isolationWorld, leaksIn, type World } from "./fixtures/isolation-world.ts";

const document = openApiDocument();
const OF_LENDER = /((?:"?\w+"?\.)?"?lender_id"?) = (\$\d+|'[0-9a-f-]{36}')/g;
let world: World;

beforeAll(async () => {
  world = await isolationWorld();
});

describe("the isolation matrix finds an endpoint that ignores the caller", () => {
  test.each(ENDPOINTS)("$name", async (endpoint) => {
    const { app } = world.service;
    const lender = (await lenderById(app.database.em(), world.b.id))!;
    const handle = endpoint.handle as (request: object, app: App) => Promise<never>;
    // Handle every request as if lender B had sent it.
    const broken: Endpoint = {
      ...endpoint,
      handle: (request: object) => handle({ ...request, lender, keyId: world.b.key.apiKeyId }, app),
    };
    const asA = { url: await served([broken], app), key: world.a.key };
    expect(await findingsAt(asA, [broken])).not.toEqual([]);
  });
});

describe("the isolation matrix finds an SQL query without its condition on the lender", () => {
  test.each([
    "get-case",
    "cases-list",
    "payments-list",
    "deliveries-list",
    "deliveries-get",
    "replays-get",
    "reconciliations-get",
    "reconciliations-list",
  ])("in %s", async (name) => {
    expect(await findingsWithoutLender(name)).not.toEqual([]);
  });

  test("in deliveries-replay-one", { tags: "refused-query" }, async () => {
    expect(await findingsWithoutLender("deliveries-replay-one")).not.toEqual([]);
  });
});

/**
 * Returns what the isolation matrix finds at an endpoint whose queries no longer have their condition on the lender.
 */
async function findingsWithoutLender(name: string): Promise<string[]> {
  const { app, databaseUrl } = world.service;
  const careless = await testApp(databaseUrl);
  afterFile(() => careless.close());
  careless.database.pool.on("acquire", forgetLender);
  const endpoints = ENDPOINTS.filter((one) => one.name === name).map((one) => ({
    ...one,
    handle: (request: never) => one.handle(request, careless),
  }));
  const asA = { url: await served(endpoints, app), key: world.a.key };
  return findingsAt(asA, endpoints);
}

async function findingsAt(asA: Caller, endpoints: readonly Endpoint[]): Promise<string[]> {
  const findings: string[] = [];
  const changes = await changesAtB(world, async () => {
    for (const trial of trialsOf(endpoints, document, world)) findings.push(...(await findingsOf(world, asA, trial)));
    for (const { call } of ownCalls(endpoints, document, world)) {
      findings.push(...leaksIn(world, asText(await send(asA, call))));
    }
  });
  return [...findings, ...changes];
}

const carelessClients = new WeakSet<ClientBase>();

/** Removes the condition on the lender from all later queries of a connection. */
function forgetLender(client: ClientBase): void {
  if (carelessClients.has(client)) return;
  carelessClients.add(client);
  const careless = (text: string) => text.replaceAll(OF_LENDER, "($1 = $2 or true)");
  const send = client.query.bind(client) as (...args: unknown[]) => unknown;
  client.query = ((query: string | { text: string }, ...more: unknown[]) =>
    send(typeof query === "string" ? careless(query) : { ...query, text: careless(query.text) }, ...more)) as never;
}

/** Serves these endpoints with the service's router, and returns the URL. */
async function served(endpoints: readonly Endpoint[], app: App): Promise<string> {
  const server = createServer(express().use(endpointRouter(endpoints, app)));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  afterFile(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
