import type { LenderTwin } from "@collections/lender-twin";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { Evidence, LenderSide, Reconciliation, Verification } from "./evidence.ts";
import { type CommandResult, type Settings, startOperator } from "../processes/service-process.ts";
import { LENDER } from "../stage/original.ts";
import type { Stage } from "../stage/stage.ts";
import type { Model } from "../traffic/model.ts";
import { unsettled } from "./unsettled.ts";

/**
 * How long to wait so that no running process is still working on an old call. It is longer than any call to a lender,
 * including the time to record the call's result while PostgreSQL is available.
 */
const CALM_MS = 4_000;
/**
 * How long to wait for the delivery of another event. The time is long enough for a sweep to find the unfinished work
 * of dead processes. A dead process's call to the mint endpoint counts as lost after a minute, and its message after
 * two minutes.
 */
const GOES_ON_WITHIN_MS = 240_000;
const LOOK_EVERY_MS = 500;
const WINDOW_MS = 30 * 86_400_000;

/**
 * Waits until no work is left, or until no more events are delivered. The checks then report what is left.
 * @param options.hurries shifts timestamps, so that the calls and messages of dead processes count as lost immediately
 */
export async function settle(stage: Stage, options: { hurries: boolean }): Promise<void> {
  const rows = stage.postgres.pool;
  if ((await unsettled(rows)).length > 0) {
    await pause(CALM_MS);
    if (options.hurries) await shiftTimestamps(stage);
  }
  let delivered = -1;
  let deadline = 0;
  while ((await unsettled(rows)).length > 0) {
    const now = performance.now();
    const count = await deliveredOf(stage);
    if (count !== delivered) deadline = now + GOES_ON_WITHIN_MS;
    if (now > deadline) return;
    delivered = count;
    await pause(LOOK_EVERY_MS);
  }
}

async function deliveredOf({ postgres }: Stage): Promise<number> {
  const { rows } = await postgres.pool.query<{ count: string }>(
    "select count(*) from webhooks.delivery where state = 'delivered'",
  );
  return Number(rows[0]!.count);
}

/**
 * Makes the unfinished calls and messages of dead processes count as lost immediately, by moving their timestamps into
 * the past. Call it only after CALM_MS, when no running process works on them any more.
 */
async function shiftTimestamps({ postgres }: Stage): Promise<void> {
  await postgres.pool.query(
    `update payment_links.payment_link set mint_started_at = mint_started_at - interval '2 minutes',
       created_at = created_at - interval '2 minutes'
     where status = 'requested'`,
  );
  await postgres.pool.query(
    `update payment_links.link_delivery set started_at = started_at - interval '3 minutes',
       updated_at = updated_at - interval '3 minutes'
     where status = 'queued'`,
  );
}

/**
 * Collects what the invariants check: the rows in the database, the record of all requests and answers, the lender's
 * own records, and the results of `ledger verify` and `payment reconcile`.
 */
export async function gatherEvidence({ lender, model, postgres, settings }: Stage): Promise<Evidence> {
  const verification = readVerification(await startOperator(settings, "ledger", "verify", "--json").done);
  const reconciliation = await reconcile(settings, model);
  return { rows: postgres.pool, model, lender: seenBy(lender), verification, reconciliation };
}

/**
 * Reconciles the acknowledged payments with the bookings, by the operators' command. The window is so long that it
 * contains the payments of a run with shifted clocks.
 */
export async function reconcile(settings: Settings, { payments }: Pick<Model, "payments">): Promise<Reconciliation> {
  const folder = mkdtempSync(join(tmpdir(), "collections-reconciled-"));
  try {
    const path = join(folder, "acknowledged.csv");
    const lines = [...payments.values()]
      .filter(({ acknowledged }) => acknowledged)
      .map(({ loan, reference, amountMinor }) => `${loan},${reference},${(amountMinor / 100).toFixed(2)}\n`);
    writeFileSync(path, `loan,reference,amount\n${lines.join("")}`);
    const [from, to] = [-WINDOW_MS / 2, WINDOW_MS / 2].map((ms) => new Date(Date.now() + ms).toISOString());
    const window = [`--from=${from}`, `--to=${to}`];
    const command = ["payment", "reconcile", path, `--lender=${LENDER}`, ...window, "--json"];
    const { code, stdout, stderr } = await startOperator(settings, ...command).done;
    if (code !== 0 && code !== 6) {
      throw new Error(`\`payment reconcile\` failed with exit code ${code}: ${stdout}${stderr}`);
    }
    return JSON.parse(stdout) as Reconciliation;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The records of the lender's own systems. */
export function seenBy(lender: LenderTwin): LenderSide {
  const calls = Map.groupBy(lender.mints, ({ idempotencyKey }) => idempotencyKey ?? "no key");
  return {
    arrived: new Set(lender.events.map(({ eventId }) => eventId)),
    madeLinks: new Set(lender.links.keys()),
    mintCalls: new Map([...calls].map(([key, records]) => [key, records.length])),
  };
}

/** Parses the JSON that `ledger verify` prints. The command ends with 1 if it found problems. */
export function readVerification({ code, stdout, stderr }: CommandResult): Verification {
  if (code !== 0 && code !== 1) throw new Error(`\`ledger verify\` failed with exit code ${code}: ${stdout}${stderr}`);
  return JSON.parse(stdout) as Verification;
}
