import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { lenderById } from "@collections/lenders";
import { afterFile } from "@collections/testing";
import express from "express";
import type { ClientBase } from "pg";
import { beforeAll, describe, expect, test, vi } from "vitest";
import { openApiDocument } from "../../src/rest/openapi/document.ts";
import { type Endpoint, signedRouter } from "../../src/rest/server.ts";
import { partnerEndpoints } from "../../src/rest/v1/router.ts";
import { testApp } from "../fixtures/fixture.ts";
import { asText, type Caller, findingsOf, send } from "./fixtures/isolation-findings.ts";
import { ownCalls, trialsOf } from "./fixtures/isolation-requests.ts";
import { changesAtB, isolationWorld, leaksIn, type World } from "./fixtures/isolation-world.ts";

// It takes seconds, and much longer on a machine that does much else.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 120_000 });

const document = openApiDocument();
// Handlers are not called: the table is known without a service.
const names = partnerEndpoints({ credentials: {}, config: {} } as never).map(({ name }) => name);
const OF_LENDER = /((?:"?\w+"?\.)?"?lender_id"?) = (\$\d+|'[0-9a-f-]{36}')/g;
let world: World;

beforeAll(async () => {
  world = await isolationWorld();
});

describe("the matrix sees it when who calls is forgotten", () => {
  test.each(names)("by %s", async (name) => {
    const { app } = world.service;
    const lender = (await lenderById(app.database.em(), world.b.id))!;
    const endpoint = partnerEndpoints(app).find((one) => one.name === name);
    const methods = Object.entries(endpoint!.methods as Record<string, (request: object) => Promise<never>>);
    // Its own handlers, told that whoever calls were B.
    const forgetful = methods.map(([method, handle]) => [
      method,
      (request: object) => handle({ ...request, lender, keyId: world.b.key.apiKeyId }),
    ]);
    const broken = { ...endpoint!, methods: Object.fromEntries(forgetful) };
    const asA = { url: await served([broken], app), key: world.a.key };
    expect(await findingsAt(asA, [broken])).not.toEqual([]);
  });
});

describe("the matrix sees it when a statement does not say whose rows it means,", () => {
  test.each(["get-case", "deliveries-list", "deliveries-get", "deliveries-replay-one", "replays-get"])(
    "behind %s",
    async (name) => {
      const { app, databaseUrl } = world.service;
      const careless = await testApp(databaseUrl);
      afterFile(() => careless.close());
      careless.database.pool.on("acquire", forgetLender);
      const endpoints = partnerEndpoints(careless).filter((one) => one.name === name);
      const asA = { url: await served(endpoints, app), key: world.a.key };
      expect(await findingsAt(asA, endpoints)).not.toEqual([]);
    },
  );
});

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

/** From now on a connection's statements hold for whatever lender, as if that condition had been forgotten. */
function forgetLender(client: ClientBase): void {
  const careless = (text: string) => text.replaceAll(OF_LENDER, "($1 = $2 or true)");
  const send = client.query.bind(client) as (...args: unknown[]) => unknown;
  client.query = ((said: string | { text: string }, ...more: unknown[]) =>
    send(typeof said === "string" ? careless(said) : { ...said, text: careless(said.text) }, ...more)) as never;
}

/** The router of the service with other endpoints, on a socket of its own. */
async function served(endpoints: readonly Endpoint[], app: World["service"]["app"]): Promise<string> {
  const { credentials, keyUses, rateLimiter, bodyMemory, config, log } = app;
  const rules = { credentials, keyUses, rateLimiter, bodyMemory, log, publicBasePath: "", sandbox: config.isSandbox };
  const server = createServer(express().use(signedRouter(endpoints, rules)));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  afterFile(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
