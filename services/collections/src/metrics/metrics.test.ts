import { expect, test } from "vitest";
import { createMetrics } from "./metrics.ts";

test("apps of one process share the metrics of Node", async () => {
  const [first, second] = [createMetrics().registry, createMetrics().registry];
  for (const name of ["nodejs_eventloop_lag_p99_seconds", "nodejs_gc_duration_seconds", "process_cpu_seconds_total"]) {
    expect(first.getSingleMetric(name)).toBeDefined();
    expect(second.getSingleMetric(name)).toBe(first.getSingleMetric(name));
  }
  expect(await second.metrics()).toMatch(/^process_cpu_seconds_total [\d.]+$/m);
});

test("each app counts its own answers", async () => {
  const [first, second] = [createMetrics(), createMetrics()];
  first.onBatch(3);
  expect(await first.registry.metrics()).toMatch(/^collections_confirmations_total 3$/m);
  expect(await second.registry.metrics()).toMatch(/^collections_confirmations_total 0$/m);
});
