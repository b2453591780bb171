import { newId, query, statement, type Statement } from "@collections/database";
import { describe, expect, test } from "vitest";
import { diagnosePartitions } from "./diagnosis.ts";
import { checkWebhooks, type WebhookProblem } from "../index.ts";
import { eventsOn, openTrial } from "../../tests/trial.ts";

const trial = await openTrial();
const { database } = trial;
const CALLBACK = "http://127.0.0.1:9/hooks";

describe("the check of webhooks", () => {
  test("finds no problem in deliveries that are waiting, leased, retrying soon, delivered or parked", async () => {
    const lenderId = await aQuietLender(CALLBACK);
    await publish(lenderId, "LN-1", 1, 6);
    await change(updateDelivery(`state = 'delivered', settled_at = now()`, "sequence = 1"), lenderId);
    await change(updateDelivery(`state = 'parked', settled_at = now()`, "sequence = 2"), lenderId);
    await change(
      updateDelivery(`state = 'retrying', next_attempt_at = now() + interval '6 hours'`, "sequence = 3"),
      lenderId,
    );
    await change(updateDelivery(`leased_until = now() + interval '20 seconds'`, "sequence = 4"), lenderId);
    const { at, tenants: lenders, problems } = await checkWebhooks(database.em(), { tenantId: lenderId });
    expect(problems).toEqual([]);
    expect(lenders).toMatchObject([
      { lenderId, url: CALLBACK, state: "active", published: 6, delivered: 1, waiting: 3, retrying: 1, parked: 1 },
    ]);
    expect(lenders[0]?.oldestUndelivered).toMatchObject({ loan: "LN-1", sequence: 3n, state: "retrying" });
    expect(Math.abs(at.getTime() - Date.now())).toBeLessThan(60_000);
  });

  test("checks all lenders, reports progress, and names the lender of each problem", async () => {
    const [one, other] = [await aQuietLender(null), await aQuietLender(null)];
    await publish(one, "LN-1", 2, 2);
    await publish(other, "LN-1", 1, 1);
    const seen: string[] = [];
    const { tenants: lenders, problems } = await checkWebhooks(database.em(), {
      onProgress: ({ tenantId: lenderId, done, of }) => seen.push(`${lenderId} ${done < of}`),
    });
    expect(seen).toEqual(lenders.map(({ tenantId: lenderId }) => `${lenderId} true`));
    expect(problems.filter(({ tenantId: lenderId }) => lenderId === one).map(({ code }) => code)).toEqual([
      "SEQUENCE_GAP",
      "NO_CALLBACK",
    ]);
    expect(problems.filter(({ tenantId: lenderId }) => lenderId === other).map(({ code }) => code)).toEqual([
      "NO_CALLBACK",
    ]);
  });

  test.each<[WebhookProblem["code"], Partial<WebhookProblem>, ...Statement[]]>([
    ["SEQUENCE_GAP", { count: 1, detail: expect.stringContaining("after 1 comes 3") as string }, removeSecond()],
    ["SEQUENCE_DUPLICATE", { count: 1 }, renumberSecond()],
    ["EVENT_WITHOUT_DELIVERY", { count: 1 }, del("delivery", "sequence = 2")],
    ["DELIVERY_WITHOUT_EVENT", { count: 1 }, del("event", "sequence = 3")],
    ["TOTALS_MISMATCH", { count: 1 }, del("delivery", "sequence = 2")],
    ["NOT_PICKED_UP", { count: 1 }, updateDelivery(`created_at = now() - interval '6 minutes'`, "true")],
    ["STUCK_LEASE", { count: 1 }, updateDelivery(`leased_until = now() - interval '6 minutes'`, "sequence = 1")],
    [
      "RETRY_OVERDUE",
      { count: 1 },
      updateDelivery(`state = 'retrying', next_attempt_at = now() - interval '6 minutes'`, "sequence = 3"),
    ],
    ["PROBE_OVERDUE", { since: expect.any(Date) as Date }, suspend(`now() - interval '6 minutes'`)],
    ["PROBE_OVERDUE", { since: null }, suspend("null")],
    ["REPLAY_STALLED", { count: 7 }, insertReplay("running")],
    [
      "OWN_NETWORK_FAILS",
      { count: 2, detail: expect.stringContaining("DNS server did not answer") as string },
      insertOwnFault(8),
      insertOwnFault(2),
    ],
  ])("reports %s as a fault", async (code, facts, ...statements) => {
    const lenderId = await aQuietLender(CALLBACK);
    await publish(lenderId, "LN-1", 1, 3);
    for (const one of statements) await change(one, lenderId);
    const { problems } = await checkWebhooks(database.em(), { tenantId: lenderId });
    expect(problems.filter((problem) => problem.code === code)).toMatchObject([
      { severity: "fault", tenantId: lenderId, ...facts },
    ]);
    for (const { detail } of problems) expect(detail).toMatch(/^[A-Z\d].*\.$/);
  });

  test.each<[string, WebhookProblem["code"][], ...Statement[]]>([
    ["a suspended endpoint", ["SUSPENDED"], suspend(`now() + interval '10 minutes'`)],
    ["an event without a callback URL", ["NO_CALLBACK"], updateEndpoint("url = null")],
    [
      "an old event whose callback fails",
      ["OLD_EVENT"],
      updateDelivery(
        `state = 'retrying', created_at = now() - interval '2 hours', next_attempt_at = now() + interval '1 hour'`,
        "true",
      ),
    ],
  ])("reports %s as a warning", async (_what, codes, ...statements) => {
    const lenderId = await aQuietLender(CALLBACK);
    await publish(lenderId, "LN-1", 1, 3);
    for (const one of statements) await change(one, lenderId);
    const { problems } = await checkWebhooks(database.em(), { tenantId: lenderId });
    expect(problems).toMatchObject(codes.map((code) => ({ severity: "warning", code, count: 3, lenderId })));
  });

  test.each<[string, ...Statement[]]>([
    [
      "waits for the retry of an earlier event of its loan",
      updateDelivery(`created_at = now() - interval '6 minutes'`, "true"),
      updateDelivery(`state = 'retrying', next_attempt_at = now() + interval '6 hours'`, "sequence = 1"),
    ],
    [
      "waits while other events of its endpoint are in flight",
      updateDelivery(`created_at = now() - interval '6 minutes'`, "true"),
      updateDelivery(`leased_until = now() + interval '20 seconds'`, "sequence = 1"),
    ],
    ["has failed on our own side for less than a minute", insertOwnFault(2), insertOwnFault(1.5)],
    ["was delivered after failures on our own side", insertOwnFault(8), insertOwnFault(2), insertDelivered(1)],
    [
      "has just got a callback URL",
      updateDelivery(`created_at = now() - interval '6 minutes'`, "true"),
      updateEndpoint("updated_at = now()"),
    ],
    [
      "is part of a replay",
      updateDelivery(`created_at = now() - interval '20 days', replay = true`, "true"),
      insertReplay("done"),
    ],
  ])("finds no problem in an event that %s", async (_what, ...statements) => {
    const lenderId = await aQuietLender(CALLBACK);
    await publish(lenderId, "LN-1", 1, 3);
    for (const one of statements) await change(one, lenderId);
    expect((await checkWebhooks(database.em(), { tenantId: lenderId })).problems).toEqual([]);
  });

  test("reports missing partitions as a fault that belongs to no lender", async () => {
    expect((await checkWebhooks(database.em())).problems.filter(({ tenantId: lenderId }) => lenderId === null)).toEqual(
      [],
    );
    const now = new Date();
    const state = {
      relation: "event",
      partitions: 2,
      madeTo: now,
      unplaced: 3,
      keptFrom: null,
      isDropPending: false,
    } as const;
    expect(diagnosePartitions([state], now)).toMatchObject([
      { severity: "fault", code: "PARTITIONS_NOT_MADE", lenderId: null, count: 3 },
    ]);
  });
});

/** Adds a lender whose endpoint was registered an hour ago, so that workers have had enough time to send its events. */
async function aQuietLender(url: string | null): Promise<string> {
  const lenderId = await trial.addLender(url);
  await change(updateEndpoint(`updated_at = now() - interval '1 hour'`), lenderId);
  return lenderId;
}

async function publish(lenderId: string, loan: string, from: number, to: number): Promise<void> {
  await trial.publish(eventsOn(lenderId, loan, from, to));
}

async function change(one: Statement, lenderId: string): Promise<void> {
  await query(database.em(), one, one.text.includes("$2") ? [lenderId, newId()] : [lenderId]);
}

function sql(text: string): Statement {
  return statement(`doctor-test.${Buffer.from(text).toString("base64").slice(-40)}-${text.length}`, text);
}

function updateDelivery(set: string, where: string): Statement {
  return sql(`update webhooks.delivery set ${set} where lender_id = $1 and ${where}`);
}

function updateEndpoint(set: string): Statement {
  return sql(`update webhooks.endpoint set ${set} where lender_id = $1`);
}

function suspend(nextProbeAt: string): Statement {
  return updateEndpoint(
    `state = 'suspended', suspended_at = now() - interval '1 hour', next_probe_at = ${nextProbeAt}`,
  );
}

function del(table: string, where: string): Statement {
  return sql(`delete from webhooks.${table} where lender_id = $1 and ${where}`);
}

function removeSecond(): Statement {
  return sql(`with gone as (delete from webhooks.event where lender_id = $1 and sequence = 2)
    delete from webhooks.delivery where lender_id = $1 and sequence = 2`);
}

function renumberSecond(): Statement {
  return sql(`update webhooks.event set sequence = 1 where lender_id = $1 and sequence = 2`);
}

function insertReplay(state: string): Statement {
  return sql(`insert into webhooks.replay (lender_id, id, states, rate_per_second, total, done, state, up_to,
      requested_by, next_step_at, created_at)
    values ($1, $2, '{parked}', 50, 10, 3, '${state}', $2, 'operator', now() - interval '6 minutes', now())`);
}

function insertOwnFault(minutesAgo: number): Statement {
  return insertAttempt(minutesAgo, "'failed', 'DNS', 'Our own DNS server did not answer (ECONNREFUSED).'");
}

function insertDelivered(minutesAgo: number): Statement {
  return insertAttempt(minutesAgo, "'delivered', null, null");
}

function insertAttempt(minutesAgo: number, result: string): Statement {
  return sql(`insert into webhooks.attempt (lender_id, id, delivery_id, number, outcome, error_code, error_detail,
      started_at, duration_ms, replay, created_at)
    select $1, $2, d.id, 1, ${result}, now() - ${minutesAgo} * interval '1 minute', 5, false, now()
    from webhooks.delivery d where d.lender_id = $1 and d.sequence = 1 and ${minutesAgo} > 0`);
}
