import { createOutbound } from "@collections/outbound";
import { expect, test } from "vitest";
import { createMetrics } from "./metrics.ts";

test("the longest fault of each reason is a metric", async () => {
  const { registry, outbound: metric } = createMetrics();
  expect(await registry.metrics()).toMatch(/^collections_own_fault_seconds\{reason="OWN_DNS_FAILED"\} 0$/m);
  const facts = { systemCode: "ECONNREFUSED", since: new Date() };
  metric.watch(() => [
    { reason: "OWN_DNS_FAILED", lastingMs: 61_000, ...facts },
    { reason: "OWN_DNS_FAILED", lastingMs: 5_000, ...facts },
  ]);
  const text = await registry.metrics();
  expect(text).toMatch(/^collections_own_fault_seconds\{reason="OWN_DNS_FAILED"\} 61$/m);
  expect(text).toMatch(/^collections_own_fault_seconds\{reason="OWN_NETWORK_FAILED"\} 0$/m);
});

test("an outbound client without requests reports no fault", async () => {
  const outbound = createOutbound();
  expect(outbound.ownFaults()).toEqual([]);
  await outbound.close();
});
