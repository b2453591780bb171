import { until } from "@collections/testing";
import { readFile } from "node:fs/promises";
import { query, statement, transaction } from "@collections/database";
import type { EntityManager } from "@collections/entities";
import { mintPaymentLinkQueue } from "@collections/flows";
import { lenderByCode } from "@collections/lenders";
import { changeEndpoint } from "@collections/webhooks";
import { expect, test } from "vitest";
import { aLender, aRow, startTestService } from "../fixtures/fixture.ts";

test("a worker's metrics count attempts, deliveries, probes, the backlog and deliveries in flight", async () => {
  const service = await startTestService({
    settings: { WEBHOOK_SUSPEND_AFTER: "3", WEBHOOK_PROBE_INTERVAL: "1h", WEBHOOK_LADDER: "0s,1ms,6h" },
  });
  const em = () => service.app.database.em();
  const [well, hanging, broken] = [await aLender(service), await aLender(service), await aLender(service)];
  const nowhere = await aLender(service);
  await unregister(em(), nowhere.code);
  hanging.receiverBehaviour = "hang";
  broken.receiverBehaviour = "status:500";
  await well.importCases([aRow("LN-1"), aRow("LN-2")]);
  await hanging.importCases([aRow("LN-1")]);
  await nowhere.importCases([aRow("LN-1")]);
  await broken.importCases([aRow("LN-1"), aRow("LN-2")]);
  await well.waitForEvents((events) => events.length === 2);
  await hanging.waitFor(() => hanging.deliveries.length === 1);
  const brokenId = (await lenderByCode(em(), broken.code))!.id;
  await until(async () => (await query(em(), isSuspended, [brokenId])).length > 0);
  await query(em(), probeNow, [brokenId]);
  await until(async () => (await query(em(), isProbed, [brokenId])).length > 0);

  const metrics = await scrape(service.url);
  expect(metrics.get(`attempts_total{outcome="delivered",cause="NONE"}`)).toBe(2);
  expect(metrics.get(`attempts_total{outcome="retrying",cause="NON_2XX"}`)).toBeGreaterThanOrEqual(3);
  expect(metrics.get(`attempt_duration_seconds_count{outcome="delivered"}`)).toBe(2);
  expect(metrics.get("delivery_latency_seconds_count")).toBe(2);
  expect(metrics.get("delivery_latency_seconds_sum")).toBeGreaterThan(0);
  expect(metrics.get(`probes_total{outcome="failed",cause="NON_2XX"}`)).toBe(1);
  expect(metrics.get(`in_flight{lender="${hanging.code}"}`)).toBe(1);
  expect(metrics.get(`in_flight{lender="${well.code}"}`)).toBe(0);
  expect(metrics.get(`endpoints{state="active"}`)).toBe(2);
  expect(metrics.get(`endpoints{state="suspended"}`)).toBe(1);
  expect(metrics.get(`endpoints{state="unregistered"}`)).toBe(1);
  const [waiting, retrying] = ["waiting", "retrying"].map((state) => metrics.get(`backlog{state="${state}"}`)!);
  expect(waiting! + retrying!).toBe(4);
  expect(metrics.get(`backlog{state="parked"}`)).toBe(0);
  expect(metrics.get(`oldest_waiting_seconds{endpoint="unregistered"}`)).toBeGreaterThan(0);

  // The backlog is cached for ten seconds, so that frequent scrapes cost the database little.
  await nowhere.importCases([aRow("LN-2")]);
  const soon = await scrape(service.url);
  expect(soon.get(`backlog{state="waiting"}`)).toBe(waiting);
  hanging.receiverBehaviour = "ok";
});

test("a worker's metrics have the figures of today of each lender", async () => {
  const service = await startTestService();
  const lender = await aLender(service);
  await lender.importCases([aRow("LN-1"), aRow("LN-2")]);
  const paidAt = new Date().toISOString();
  await lender.confirm("LN-1", { amount: 5_250.5, reference: "UTR1", paidAt, mode: "upi" });
  await lender.confirm("LN-2", { amount: 100, reference: "UTR2", paidAt, mode: "upi" });
  const reversal = { reference: "UTR2", reversalReference: "RV1", reversedAt: paidAt, reason: "bounced" };
  expect((await lender.reverse("LN-2", reversal)).status).toBe(200);
  const text = await (await fetch(`${service.url}/metrics`)).text();
  const figures = [
    ...text.matchAll(
      /^collections_(today_\w+|unassigned_cases|unhealthy_endpoints)\{lender="(\w+)",?([^}]*)\} (\S+)$/gm,
    ),
  ]
    .filter(([, , code]) => code === lender.code)
    .map(([, name, , labels, value]) => [`${name}{${labels}}`, Number(value)]);
  expect(Object.fromEntries(figures)).toEqual({
    'today_payments{currency="INR"}': 2,
    'today_paid_amount{currency="INR"}': 5_350.5,
    'today_excess_amount{currency="INR"}': 250.5,
    'today_reversals{currency="INR"}': 1,
    'today_reversed_amount{currency="INR"}': 100,
    'today_promises{state="due"}': 0,
    'today_promises{state="kept"}': 0,
    'today_promises{state="broken"}': 0,
    'today_links{state="requested"}': 0,
    'today_links{state="minted"}': 0,
    'today_links{state="unavailable"}': 0,
    "today_active_field_partners{}": 0,
    "today_reconciliation_differences{}": 0,
    "unassigned_cases{}": 1,
    'unhealthy_endpoints{state="suspended"}': 0,
    'unhealthy_endpoints{state="failing"}': 0,
  });
});

test("a worker's metrics count failed jobs by queue", async () => {
  const service = await startTestService();
  await query(service.app.database.em(), failJobs, [mintPaymentLinkQueue.name]);
  const text = await (await fetch(`${service.url}/metrics`)).text();
  expect(text).toContain(`collections_failed_jobs{queue="${mintPaymentLinkQueue.name}",state="failed"} 2\n`);
});

test("the runbook lists exactly the metrics of the service", async () => {
  const service = await startTestService();
  const runbook = await readFile(new URL("../../../../docs/operations.md", import.meta.url), "utf8");
  const documented = [...runbook.matchAll(/^\| `(collections_\w+)`/gm)].map(([, name]) => name!);
  const measured = (await service.app.metrics.registry.getMetricsAsJSON()).map(({ name }) => name);
  expect(new Set(measured.filter((name) => name.startsWith("collections_")))).toEqual(new Set(documented));
});

async function unregister(em: EntityManager, lenderCode: string): Promise<void> {
  const { id: lenderId } = (await lenderByCode(em, lenderCode))!;
  await transaction(em, (tx) => changeEndpoint(tx, { tenantId: lenderId, url: null }));
}

/** Returns the values of the webhook metrics, keyed by their names without "collections_webhook_". */
async function scrape(url: string): Promise<Map<string, number>> {
  const response = await fetch(`${url}/metrics`);
  expect(response.status).toBe(200);
  const lines = (await response.text()).matchAll(/^collections_webhook_(\S+) (\S+)$/gm);
  return new Map([...lines].map(([, name, value]) => [name!, Number(value)]));
}

const failJobs = statement(
  "metrics-test.fail-jobs",
  `insert into pgboss.job (name, state, completed_on) select $1, 'failed', now() from generate_series(1, 2)`,
);

const isSuspended = statement(
  "metrics-test.is-suspended",
  `select from webhooks.endpoint where lender_id = $1 and state = 'suspended'`,
);

const isProbed = statement(
  "metrics-test.is-probed",
  `select from webhooks.endpoint where lender_id = $1 and probed_at is not null`,
);

const probeNow = statement(
  "metrics-test.probe-now",
  `update webhooks.endpoint set next_probe_at = now() where lender_id = $1`,
);
