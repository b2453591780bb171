import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterFile, withoutTriggers, until } from "@collections/testing";
import { beforeAll, expect, test } from "vitest";
import { anchorChains } from "../../src/anchors/chains.ts";
import { extendChains } from "../../src/worker/worker.ts";
import { startAnchorStore } from "./fixtures/anchor-store.ts";
import { commandsInProcess } from "../fixtures/commands.ts";
import { aLender, aRow, startTestService, type TestService } from "../fixtures/fixture.ts";
import { type Cli, startProcess } from "../fixtures/processes.ts";

const folder = await mkdtemp(join(tmpdir(), "anchors-"));
afterFile(() => rm(folder, { recursive: true }));
const file = join(folder, "anchors.jsonl");

const SHORT_INTERVAL = { LEDGER_ANCHOR_INTERVAL: "100ms" };
let service: TestService;
let lender: Awaited<ReturnType<typeof aLender>>;
let cli: Cli;
let paid = 0;

beforeAll(async () => {
  service = await startTestService({ settings: { LEDGER_ANCHOR: `file:${file}`, ...SHORT_INTERVAL } });
  lender = await aLender(service);
  await lender.importCases([aRow("LN-1", { outstandingAmount: 100_000 })]);
  cli = commandsInProcess({ DATABASE_URL: service.databaseUrl });
});

async function pay(): Promise<void> {
  paid += 1;
  const paidAt = new Date().toISOString();
  const { status } = await lender.confirm("LN-1", { amount: 100, reference: `pay_${paid}`, paidAt, mode: "upi" });
  expect(status).toBe(200);
}

interface Anchored {
  heads: { lenderId: string; block: number }[];
}

async function anchorsIn(path: string): Promise<Anchored[]> {
  const text = await readFile(path, "utf8");
  return text.split("\n").flatMap((line) => (line === "" ? [] : [JSON.parse(line) as Anchored]));
}

/**
 * Extends the ledger's hash chains now, as the worker does every ten seconds, and waits until anchors cover every row
 * of the books.
 */
async function waitUntilAnchored(place = file): Promise<void> {
  await extendChains(service.app);
  const notProven = async () => {
    const { stdout } = await cli("ledger", "verify", "--json", "--anchor", place);
    return (JSON.parse(stdout) as Partial<Report>).notProven;
  };
  await expect.poll(notProven, { interval: 500 }).toEqual([]);
}

interface Report {
  ok: boolean;
  problems: { code: string; id: string; detail: string }[];
  notProven: string[];
  anchors: { anchors: number; tornLines: number; proven: { lenderCode: string; block: number }[] } | null;
}

async function verify(...args: string[]): Promise<Report> {
  const { code, stdout } = await cli("ledger", "verify", "--json", ...args);
  const report = JSON.parse(stdout) as Report;
  expect(code).toBe(report.ok ? 0 : 1);
  return report;
}

test("a worker anchors chain blocks, and `ledger verify --anchor` states the last block that the anchors prove", async () => {
  await pay();
  await waitUntilAnchored();
  const { ok, anchors, notProven } = await verify("--anchor", file);
  expect({ ok, notProven }).toEqual({ ok: true, notProven: [] });
  expect(anchors!.proven).toMatchObject([{ lenderCode: lender.code, block: expect.any(Number) }]);
  const { stdout } = await cli("ledger", "verify", "--anchor", file);
  expect(stdout).toMatch(new RegExp(`Proven:\nLENDER +UP TO BLOCK +OF +ANCHORED\n${lender.code} +\\d+ +2`));
});

test("`ledger verify` without anchors says what it cannot prove and how to set LEDGER_ANCHOR", async () => {
  const withSetting = commandsInProcess({ DATABASE_URL: service.databaseUrl, LEDGER_ANCHOR: `file:${file}` });
  const [without, report, set] = [await cli("ledger", "verify"), await verify(), await withSetting("ledger", "verify")];
  expect(without.code).toBe(0);
  expect(without.stdout).toMatch(/Not proven: without --anchor, .* computed the hash chain again\. Set LEDGER_ANCHOR/);
  expect(report).toMatchObject({ ok: true, anchors: null, notProven: [expect.stringContaining("Set LEDGER_ANCHOR")] });
  expect(set.stdout).toContain("Run ledger verify --anchor with a copy of the anchors that LEDGER_ANCHOR keeps.");
});

test("two workers append whole lines to one anchor file, after an incomplete line of a killed worker", async () => {
  const torn = (await readFile(file, "utf8")).trim().slice(0, 90);
  await writeFile(file, `\n${torn}`, { flag: "a" });
  await startTestService({
    settings: { DATABASE_URL: service.databaseUrl, LEDGER_ANCHOR: `file:${file}`, ...SHORT_INTERVAL },
  });
  await pay();
  await waitUntilAnchored();
  expect(await verify("--anchor", file)).toMatchObject({ ok: true, anchors: { tornLines: 1 } });
  await writeFile(file, (await readFile(file, "utf8")).replace(`\n${torn}\n`, "\n"));
});

test("an anchor is written again if its worker was killed after writing and before recording it", async () => {
  const own = join(folder, "killed.jsonl");
  const otherService = await startTestService({ hasWorker: false });
  const other = await aLender(otherService);
  await other.importCases([aRow("LN-1")]);
  const client = await otherService.app.database.pool.connect();
  await client.query("begin; lock table ledger.anchor in share row exclusive mode");
  const settings = {
    DATABASE_URL: otherService.databaseUrl,
    ROLE: "worker",
    LEDGER_ANCHOR: `file:${own}`,
    ...SHORT_INTERVAL,
  };
  const worker = await startProcess(settings);
  await until(async () => (await anchorsIn(own).catch(() => [])).length === 1);
  worker.send("SIGKILL");
  await worker.ended;
  // Terminate the killed worker's session: otherwise PostgreSQL would still finish its query, which waits for the lock.
  await client.query(
    "select pg_terminate_backend(pid) from pg_locks where relation = 'ledger.anchor'::regclass and not granted",
  );
  await client.query("rollback");
  client.release();

  await startProcess(settings);
  await until(async () => (await anchorsIn(own)).length === 2);
  const [first, second] = await anchorsIn(own);
  expect(second!.heads).toEqual(first!.heads);
  const { code } = await commandsInProcess({ DATABASE_URL: otherService.databaseUrl })(
    "ledger",
    "verify",
    "--anchor",
    own,
  );
  expect(code).toBe(0);
});

test("an anchor store that was unavailable gets the newest chain head, and `ledger verify` reads anchors from it", async () => {
  const store = await startAnchorStore();
  const otherService = await startTestService({ hasWorker: false });
  const other = await aLender(otherService);
  await other.importCases([aRow("LN-1")]);
  store.refusals = 3;
  const header = { LEDGER_ANCHOR_HEADER: "Authorization: Bearer s3cr3t-token" };
  const settings = { DATABASE_URL: otherService.databaseUrl, LEDGER_ANCHOR: store.url, ...header, ...SHORT_INTERVAL };
  const process = await startProcess({ ...settings, ROLE: "worker", LOG_LEVEL: "info" });
  await until(() => store.objects.size > 0);
  expect([...store.objects.keys()]).toEqual([
    expect.stringMatching(/^\/anchors\/\d{4}-\d\d-\d\dT[\d-]+Z-[0-9a-f]{16}\.json\?sig=s3cr3t$/),
  ]);
  expect(new Set(store.authorizations)).toEqual(new Set(["Bearer s3cr3t-token"]));
  expect(process.log()).toContain("ledger chains not anchored");
  expect(process.log()).toContain("it answered 503");
  expect(process.log()).not.toContain("s3cr3t");
  const metrics = await (await fetch(`${process.url}/metrics`)).text();
  expect(metrics).toContain('collections_ledger_anchors_total{outcome="failed"} 3');
  expect(metrics).toMatch(/^collections_ledger_unanchored_seconds \d/m);

  const there = commandsInProcess(settings);
  const { code, stdout } = await there("ledger", "verify", "--anchor", store.url);
  expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringContaining("Proven:") });
  store.refusals = 0;
  expect((await there("ledger", "verify", "--anchor", store.url.replace(/:\d+/, ":1"))).stderr).toMatch(
    /The address did not return the anchors: .* give the folder with the downloaded files/,
  );
});

test("`ledger verify --anchor` reads files and folders, and `ledger anchor-keys` prints the public keys", async () => {
  const { keys } = (await cli.json("ledger", "anchor-keys")) as { keys: { keyId: string; publicKey: string }[] };
  expect(keys).toMatchObject([{ publicKey: expect.stringMatching(/^[A-Za-z0-9+/]{43}=$/), signs: true }]);
  const parts = await mkdtemp(join(folder, "parts-"));
  for (const [index, anchor] of (await anchorsIn(file)).entries()) {
    await writeFile(join(parts, `${index}.json`), JSON.stringify(anchor));
  }
  expect(await verify("--anchor", parts)).toMatchObject({ ok: true });

  const nonsense = await cli("ledger", "verify", "--anchor", file, "--anchor-key", "nonsense");
  expect(nonsense).toMatchObject({ code: 2, stderr: expect.stringContaining("expected 32 bytes in base64") });
  expect(await cli("ledger", "verify", "--anchor", join(folder, "nowhere"))).toMatchObject({ code: 3 });
});

test("--anchor accepts a file: URL as LEDGER_ANCHOR does, and rejects a URL without a valid file or host", async () => {
  const copy = join(folder, "my anchors #1.jsonl");
  await writeFile(copy, await readFile(file));
  expect(await verify("--anchor", pathToFileURL(copy).href)).toMatchObject({ ok: true });
  for (const url of [`file:${copy}`, "file://host/x", "file:/a%2Fb", "https://a*b.example/x", "https://"]) {
    expect(await cli("ledger", "verify", "--anchor", url)).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/does not name a file: write file:\/|has no usable host\./) as string,
    });
  }
});

test("a failure to read the lenders is counted and logged as a failed anchor", async () => {
  const { app } = await startTestService({
    hasWorker: false,
    settings: { LEDGER_ANCHOR: `file:${join(folder, "none")}` },
  });
  await app.database.pool.query("alter table lenders.lender rename to moved");
  const logged: unknown[] = [];
  const log = app.log.child({}, {});
  log.error = (_: unknown, message?: string) => void logged.push(message);
  await anchorChains({ ...app, log });
  expect(logged).toEqual(["ledger chains not anchored"]);
  expect(await app.metrics.registry.metrics()).toContain('collections_ledger_anchors_total{outcome="failed"} 1');
});

test("anchors that were signed before a rotation of the master key are verified with the old public key", async () => {
  const own = join(folder, "rotated.jsonl");
  const otherService = await startTestService({ settings: { LEDGER_ANCHOR: `file:${own}`, ...SHORT_INTERVAL } });
  const other = await aLender(otherService);
  await other.importCases([aRow("LN-1")]);
  await extendChains(otherService.app);
  await until(async () => (await anchorsIn(own).catch(() => [])).length > 0);
  const [oldKey, newKey] = [{ MASTER_KEY: "a".repeat(64) }, { MASTER_KEY: "b".repeat(64) }];
  const DATABASE_URL = otherService.databaseUrl;
  const during = commandsInProcess({ DATABASE_URL, ...newKey, MASTER_KEY_PREVIOUS: oldKey.MASTER_KEY });
  const { keys } = (await during.json("ledger", "anchor-keys")) as { keys: { keyId: string; publicKey: string }[] };
  expect(await during("ledger", "verify", "--anchor", own)).toMatchObject({ code: 0 });
  expect(await during("master-key", "rotate")).toMatchObject({ code: 0 });

  const after = commandsInProcess({ DATABASE_URL, ...newKey });
  const unknown = await after("ledger", "verify", "--anchor", own);
  expect(unknown).toMatchObject({ code: 1, stdout: expect.stringContaining("ANCHOR_KEY_UNKNOWN") });
  expect(unknown.stdout).toContain(keys[1]!.keyId);
  const known = await after("ledger", "verify", "--anchor", own, "--anchor-key", keys[1]!.publicKey);
  expect(known).toMatchObject({ code: 0, stdout: expect.stringContaining("Proven:") });
});

test("a process without LEDGER_ANCHOR has no metric for the age of unanchored blocks", async () => {
  const { url } = await startTestService({ hasWorker: false });
  expect(await (await fetch(`${url}/metrics`)).text()).not.toMatch(/^collections_ledger_unanchored_seconds /m);
});

test("only anchors reveal a booking that a superuser changed together with the hash chain", async () => {
  await pay();
  await waitUntilAnchored();
  await withoutTriggers(service.app.database.pool, (client) =>
    client.query(`
    update ledger.payment_booking set raw_mode = 'cash' where reference = 'pay_${paid}';
    update ledger.payment_booking set digest = ledger.payment_booking_digest(lender_id, id, source_loan_number, reference,
      case_id, cycle, amount_minor, currency, mode, raw_mode, paid_at, link_id, visit_id, field_partner_id, attribution,
      applied_minor, excess_minor, outstanding_after_minor, total_collected_after_minor, status_after, sequence,
      warnings, recorded_at) where reference = 'pay_${paid}';
    with last as (
      select * from ledger.chain_block order by number desc limit 1
    ), digests as (
      select sha256(string_agg(digest, ''::bytea order by id)) as rows_hash from (
        select id, digest from ledger.transfer where id = any ((select transfer_ids from last)::uuid[])
        union all
        select id, digest from ledger.payment_booking where id = any ((select booking_ids from last)::uuid[])
      ) members
    )
    update ledger.chain_block b set rows_hash = d.rows_hash,
      hash = ledger.chain_block_hash(b.lender_id, b.number, b.row_count, d.rows_hash, b.previous_hash, b.last_id, b.created_at)
    from last, digests d where b.lender_id = last.lender_id and b.number = last.number`),
  );
  expect(await verify()).toMatchObject({ ok: true, problems: [] });
  // The workers also anchor the head of the changed hash chain, but the earlier anchor still differs from it.
  const { ok, problems } = await verify("--anchor", file);
  expect(ok).toBe(false);
  expect(problems).toMatchObject([
    { code: "ANCHOR_MISMATCH", detail: expect.stringMatching(/^Block \d+ was anchored at/) },
  ]);
});

test("`ledger verify` without anchors names blocks that lost the record of their anchor", async () => {
  const settings = { LEDGER_ANCHOR: `file:${join(folder, "emptied.jsonl")}` };
  const emptied = await startTestService({ hasWorker: false, settings });
  const { app, databaseUrl } = emptied;
  const { code } = await aLender(emptied);
  await (await aLender(emptied)).importCases([aRow("LN-1")]);
  await extendChains(app);
  await anchorChains(app);
  // A block is reported if it is older than LEDGER_ANCHOR_INTERVAL and 15 minutes.
  await withoutTriggers(app.database.pool, (client) =>
    client.query("update ledger.chain_block set created_at = created_at - interval '1 hour'"),
  );
  const own = commandsInProcess({ DATABASE_URL: databaseUrl, ...settings });
  const notProven = async (...args: string[]) => {
    const { stdout } = await own("ledger", "verify", ...args, "--json");
    return (JSON.parse(stdout) as Report).notProven;
  };
  const advice = expect.stringContaining("Run ledger verify --anchor") as string;
  expect(await notProven()).toEqual([advice]);
  await app.database.pool.query("delete from ledger.anchor");
  const lost = expect.stringMatching(/^A block from 20.* is not anchored; there is no anchor yet\./) as string;
  expect(await notProven()).toEqual([advice, lost]);
  expect(await notProven("--lender", code)).toEqual([advice]);
});
