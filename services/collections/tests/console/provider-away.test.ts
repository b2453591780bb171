import { createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { afterFile } from "@collections/testing";
import { afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { endFaults, type ProviderStage, startProviderStage } from "./fixtures/provider-stage.ts";
import { aScriptedBrowser } from "./fixtures/sign-in-provider.ts";
import { aSignedInVisitor, aVisitor } from "./fixtures/visitor.ts";

let service: ProviderStage["service"];
let provider: ProviderStage["provider"];
let serverWith: ProviderStage["serverWith"];

beforeAll(async () => {
  ({ service, provider, serverWith } = await startProviderStage());
});

afterEach(() => {
  endFaults(provider);
  vi.useRealTimers();
});

describe("a service whose provider is away", () => {
  test("starts, shows the failure, and signs in when the provider is back", async () => {
    provider.failsWith = 503;
    const fresh = await serverWith({});
    const failed = await aScriptedBrowser().send(`${fresh.url}/console/oidc`);
    expect(failed).toMatchObject({
      status: 503,
      text: expect.stringContaining("The sign-in provider cannot be used") as string,
    });
    const byLink = Object.assign(aVisitor(fresh), { cookie: (await aSignedInVisitor(service)).cookie });
    expect(await byLink.get("/console")).toMatchObject({ status: 200 });
    provider.failsWith = undefined;
    expect((await aScriptedBrowser().send(`${fresh.url}/console/oidc`)).status).toBe(303);
    const reads = () => provider.requests.filter((one) => one.includes("/.well-known/")).length;
    const before = reads();
    await aScriptedBrowser().send(`${fresh.url}/console/oidc`);
    expect(reads()).toBe(before);
  });

  test("reads the discovery document again after an hour", async () => {
    const fresh = await serverWith({});
    const starts = async () => (await aScriptedBrowser().send(`${fresh.url}/console/oidc`)).status;
    expect(await starts()).toBe(303);
    const reads = () => provider.requests.filter((one) => one.includes("/.well-known/")).length;
    const before = reads();
    provider.failsWith = 503;
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 61 * 60_000 });
    expect([await starts(), await starts()]).toEqual([303, 303]);
    expect(reads()).toBe(before + 1);
  });

  test("begins no sign-in by the document of another issuer", async () => {
    const issuer = await serveDocument((own) => ({ issuer: own.replace("127.0.0.1", "localhost") }));
    const fresh = await serverWith({ CONSOLE_OIDC_ISSUER: issuer });
    expect((await aScriptedBrowser().send(`${fresh.url}/console/oidc`)).status).toBe(503);
  });

  test("sends the client's secret to no private address that is not allowed", async () => {
    const issuer = await serveDocument((own) => ({
      issuer: own,
      authorization_endpoint: `${own}/auth`,
      token_endpoint: "http://169.254.169.254/token",
      jwks_uri: `${own}/jwks`,
    }));
    const fresh = await serverWith({ CONSOLE_OIDC_ISSUER: issuer });
    const browser = aScriptedBrowser();
    const started = await browser.send(`${fresh.url}/console/oidc`);
    const state = new URL(started.headers.get("location")!).searchParams.get("state")!;
    const answer = await browser.send(`${fresh.url}/console/oidc/callback?code=c&state=${state}`);
    expect(answer).toMatchObject({
      status: 503,
      text: expect.stringContaining("does not answer as expected") as string,
    });
  });
});

/** Starts a server that answers every request with a discovery document. Returns its issuer. */
async function serveDocument(documentOf: (issuer: string) => object): Promise<string> {
  const server = createServer((_, response) => {
    response.setHeader("Content-Type", "application/json").end(JSON.stringify(documentOf(issuer)));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  afterFile(() => void server.close());
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return issuer;
}
