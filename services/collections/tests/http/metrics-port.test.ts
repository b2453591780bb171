import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { migrate } from "@collections/database";
import { afterFile, directUrl, testDatabase } from "@collections/testing";
import { expect, test } from "vitest";
import { jobsSchema, schemas } from "../../src/schemas.ts";
import { runService, type ServiceProcess, type Settings, startProcess } from "../fixtures/processes.ts";

async function settingsWithDatabase(settings: Settings = {}): Promise<Settings> {
  const { url } = await testDatabase("service", async (at) => {
    await migrate({ url: at, schemas, jobsSchema, jobs: true });
  });
  return { DATABASE_URL: url, DATABASE_DIRECT_URL: directUrl(url), ...settings };
}

async function startedProcess(settings: Settings): Promise<ServiceProcess> {
  const process = await startProcess(settings);
  afterFile(async () => {
    process.send("SIGTERM");
    await process.ended;
  });
  return process;
}

function metricsUrlOf({ log }: ServiceProcess): string {
  return /"url":"(http:[^"]+\/metrics)"/.exec(log())![1]!;
}

async function get(url: string): Promise<{ status: number; text: string }> {
  const response = await fetch(url);
  return { status: response.status, text: await response.text() };
}

test("with METRICS_PORT, each process serves /metrics on that port only", async () => {
  const settings = await settingsWithDatabase({ METRICS_PORT: "0" });
  const processes = await Promise.all(["server", "worker"].map((role) => startedProcess({ ...settings, ROLE: role })));
  expect(new Set(processes.map(metricsUrlOf)).size).toBe(2);
  for (const process of processes) {
    const metricsUrl = metricsUrlOf(process);
    expect(metricsUrl).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/metrics$/);
    const text = expect.stringContaining("collections_") as string;
    expect(await get(metricsUrl)).toMatchObject({ status: 200, text });
    expect((await get(`${process.url}/metrics`)).status).toBe(404);
    for (const path of ["/healthz", "/readyz"]) {
      expect((await get(process.url + path)).status).toBe(200);
      expect((await get(new URL(path, metricsUrl).href)).status).toBe(404);
    }
  }
});

test("without METRICS_PORT, /metrics is served on PORT, and a production environment logs a warning", async () => {
  const settings = await settingsWithDatabase({ ENVIRONMENT: "live" });
  const production = await startedProcess(settings);
  expect((await get(`${production.url}/metrics`)).status).toBe(200);
  expect(production.log()).toContain("set METRICS_PORT to serve /metrics on a separate port");
  const sandbox = await startedProcess({ ...settings, ENVIRONMENT: "sandbox" });
  expect(sandbox.log()).not.toContain("METRICS_PORT");
});

test("a METRICS_PORT in use, or METRICS_HOST without METRICS_PORT, makes the service exit with 2 and name the setting", async () => {
  const taken = createServer();
  await new Promise<void>((resolve) => taken.listen(0, "127.0.0.1", resolve));
  afterFile(() => taken.close());
  const { port } = taken.address() as AddressInfo;
  const settings = await settingsWithDatabase({ MASTER_KEY: "a".repeat(64), PORT: "0" });
  const onTaken = await runService({ ...settings, METRICS_PORT: String(port) });
  expect({ code: onTaken.code, says: onTaken.stderr }).toMatchObject({
    code: 2,
    says: expect.stringContaining("METRICS_HOST and METRICS_PORT: the service cannot listen on this address") as string,
  });
  const withoutPort = await runService({ ...settings, METRICS_HOST: "0.0.0.0" });
  expect({ code: withoutPort.code, says: withoutPort.stderr }).toMatchObject({
    code: 2,
    says: expect.stringContaining("METRICS_PORT is required") as string,
  });
});
