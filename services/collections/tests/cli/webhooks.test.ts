import { until } from "@collections/testing";
import { execFile } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { query, statement } from "@collections/database";
import { sign } from "@collections/lender-twin";
import { actsOn, CREDENTIAL_MAX_AGE_MS, lenderByCode } from "@collections/lenders";
import { AmountLiteral } from "@collections/money";
import { deliveryTotals } from "@collections/webhooks";
import { beforeAll, expect, test } from "vitest";
import { aLender, aRow, startTestService, type TestService } from "../fixtures/fixture.ts";
import { commandsInProcess } from "../fixtures/commands.ts";
import { type Cli, operatorsCli } from "../fixtures/processes.ts";

const run = promisify(execFile);
const REASON = `it's "बंद" for $(good)\nor \`not\``;

let service: TestService;
let lender: Awaited<ReturnType<typeof aLender>>;
let lenderId: string;
let cli: Cli;
let parked: { eventId: string; sequence: number }[];

/** Creates a lender whose endpoint was suspended after failures. It has two parked and two waiting events. */
beforeAll(async () => {
  service = await startTestService({ settings: { WEBHOOK_SUSPEND_AFTER: "6" } });
  lender = await aLender(service);
  lenderId = (await lenderByCode(service.app.database.em(), lender.code))!.id;
  cli = commandsInProcess({ DATABASE_URL: service.databaseUrl });
  lender.receiverBehaviour = "status:503";
  await lender.importCases([aRow("LN-1"), aRow("LN-2")]);
  await until(async () => (await totals()).parked === 2);
  await lender.importCases([aRow("LN-3"), aRow("LN-4")]);
  const page = await cli.json(
    ..."delivery list --state parked --since 1h --kind case.created --lender".split(" "),
    lender.code,
  );
  parked = page["deliveries"] as typeof parked;
});

test("`endpoint show` shows a suspended callback with its failures, its backlog, and the cause of the last failure", async () => {
  const [shown, text, list, one] = await Promise.all([
    cli.json("endpoint", "show", lender.code),
    cli("endpoint", "show", lender.code),
    cli.json("delivery", "list", "--lender", lender.code, "--state", "waiting"),
    cli("delivery", "show", parked[0]!.eventId),
  ]);
  expect(shown).toMatchObject({
    lenderCode: lender.code,
    url: lender.callbackUrl,
    state: "suspended",
    consecutiveFailures: 6,
    waiting: 2,
    parked: 2,
    failingSince: expect.stringMatching(/Z$/) as string,
    suspendedAt: expect.stringMatching(/Z$/) as string,
    nextProbeAt: expect.stringMatching(/Z$/) as string,
    recoveredAt: null,
    oldestWaiting: { kind: "case.created", sourceLoanNumber: "LN-3", sequence: 1, state: "waiting" },
    lastFailure: { status: 503, errorCode: "NON_2XX", cause: expect.stringContaining("503") as string },
  });
  expect(text.stdout).toMatch(/^suspended: 6 failures in a row, 2 events waiting, 2 parked\.$/m);
  expect(text.stdout).toMatch(/^oldest waiting +evt_\w{32} case\.created of LN-3, sequence 1, since \d{4}-/m);
  expect(text.stdout).toMatch(
    /^last failure +.+ Asia\/Kolkata \(\S+Z\) evt_\w{32}, attempt 3: answered 503\n +cause +\S.*\n +remedy +\S/m,
  );
  expect(list["deliveries"]).toMatchObject([
    { sourceLoanNumber: "LN-4", lenderCode: lender.code },
    { sourceLoanNumber: "LN-3", lenderCode: lender.code },
  ]);
  const page = ["delivery", "list", "--lender", lender.code, "--state", "waiting", "--limit", "1"];
  const [csv, pageText] = [await cli(...page, "--csv"), await cli(...page)];
  expect(csv.stdout).toMatch(/^\uFEFFeventId,lenderCode,kind,.*\r\nevt_\w{32},\w+,case\.created,LN-4,1,waiting,0,/);
  expect(csv.stderr).toMatch(/^More: add --cursor \S+\n$/);
  expect(pageText.stdout).toMatch(/^CREATED \(\S+\) +EVENT .*\n\d{4}-\S+ \S+ +evt_.*\nMore: add --cursor \S+\n$/);
  expect(one.stdout).toMatch(/^parked \d{4}-/m);
  expect(one.stdout).toMatch(
    /^#3 .+ Asia\/Kolkata \(\S+Z\) failed after \d+ ms\n {2}answered 503\n( {2}\S+: .*\n)+ {2}\| The lender twin is configured/m,
  );
  expect(one.stdout).toMatch(/^ {2}\| The lender twin is configured to answer 503\.\n {2}cause +\S.*\n {2}remedy +\S/m);
});

test("`endpoint probe` prints request and response, and exits with 1 until the callback acknowledges", async () => {
  const [failed, text, unknown] = await Promise.all([
    operatorsCli({ DATABASE_URL: service.databaseUrl })("endpoint", "probe", lender.code, "--json"),
    cli("endpoint", "probe", lender.code),
    cli("endpoint", "probe", "NOBODY"),
  ]);
  expect([failed.code, text.code, unknown.code]).toEqual([1, 1, 3]);
  expect(JSON.parse(failed.stdout)).toMatchObject({
    delivered: false,
    request: { url: lender.callbackUrl, headers: { "X-Service-Event": "ping" } },
    response: { status: 503 },
    error: { code: "NON_2XX" },
    cause: expect.stringContaining("503") as string,
    remedy: expect.stringMatching(/\.$/) as string,
    recovered: false,
    endpoint: { state: "suspended", consecutiveFailures: 6 },
  });
  expect(text.stdout).toMatch(/^Not acknowledged after \d+ ms:\n {2}answered 503$/m);
  expect(text.stdout).toMatch(/^Cause {3}\S.*\nRemedy {2}\S/m);
});

test("`endpoint mint` prints request and answer, and exits with 1 unless a link is minted", async () => {
  const minted = await cli.json("endpoint", "mint", lender.code, "LN-1", "--amount", "2.5");
  const seen = lender.mints.at(-1)!;
  expect(minted).toMatchObject({ lenderCode: lender.code, minted: true, link: { linkId: seen.linkId }, error: null });
  expect(seen).toMatchObject({ idempotencyKey: expect.stringMatching(/^test_/) as string, request: { amount: 2.5 } });
  lender.mintBehaviour = "refuse";
  const text = await cli("endpoint", "mint", lender.code, "LN-1");
  lender.mintBehaviour = "ok";
  const [unknown, wrong] = await Promise.all([
    cli("endpoint", "mint", lender.code, "LN-99"),
    cli("endpoint", "mint", lender.code, "LN-1", "--amount", "1.234"),
  ]);
  expect([text.code, unknown.code, wrong.code]).toEqual([1, 3, 2]);
  expect(text.stdout).toMatch(/^Not minted after \d+ ms:\n {2}answered 200$/m);
  expect(text.stdout).toMatch(/^Reason {2}refused: \S.*\nCause {3}\S.*\nRemedy {2}\S/m);
  expect(text.stdout).not.toContain(lender.mintAuth.value);
});

test("`endpoint mint` masks the phone unless a reason is recorded", async () => {
  const mint = (...options: string[]) => cli("endpoint", "mint", lender.code, "LN-1", ...options);
  const phone = lender.mints.at(-1)!.request.borrowerPhone;
  for (const { stdout } of [await mint(), await mint("--json")]) expect(stdout).not.toContain(phone.slice(1));
  expect(await mint("--with-contact")).toMatchObject({ code: 2 });
  expect((await mint("--with-contact", "--reason", "they see another phone")).stdout).toContain(phone);
  const { audit } = (await cli.json("case", "show", lender.code, "LN-1")) as { audit: { act: string }[] };
  expect(
    audit
      .map(({ act }) => act)
      .slice(0, 4)
      .toSorted(),
  ).toEqual(["contact.revealed", "endpoint.mint_tested", "endpoint.mint_tested", "endpoint.mint_tested"]);
});

test("the curl command that `delivery show` prints delivers the event, and the receiver accepts it", async () => {
  await cli.json("case", "hold", lender.code, "LN-4", "--reason", REASON);
  const { deliveries } = (await cli.json("delivery", "list", "--lender", lender.code, "--kind", "case.held")) as {
    deliveries: { eventId: string }[];
  };
  const shown = (await cli.json("delivery", "show", deliveries[0]!.eventId)) as {
    body: object;
    request: { url: string; headers: Record<string, string>; body: string };
    curl: { line: string; goodUntil: string };
  };
  expect(shown).toMatchObject({ state: "waiting", replay: false, url: lender.callbackUrl, log: [] });
  expect(shown.request).toMatchObject({ url: lender.callbackUrl, headers: { "X-Service-Attempt": "1" } });
  expect(JSON.parse(shown.request.body)).toEqual(shown.body);
  expect(shown.body).toMatchObject({ data: { reason: REASON } });
  expect(Math.round((Date.parse(shown.curl.goodUntil) - Date.now()) / 60_000)).toBe(5);

  lender.receiverBehaviour = "ok";
  const { stdout } = await run("sh", ["-c", shown.curl.line]);
  lender.receiverBehaviour = "status:503";
  expect(stdout).toMatch(/^HTTP\/1\.1 200 OK/);
  expect(lender.events).toMatchObject([{ kind: "case.held", rawBody: shown.request.body, data: { reason: REASON } }]);
  expect(lender.rejected).toEqual([]);
});

test("`doctor` reports a suspended callback as a warning, and a missing event as a fault", async () => {
  const [warned, text] = await Promise.all([cli("doctor", "--json"), cli("doctor", "--lender", lender.code)]);
  expect([warned.code, text.code]).toEqual([0, 0]);
  expect(JSON.parse(warned.stdout)).toMatchObject({
    ok: true,
    faults: 0,
    warnings: 1,
    problems: [
      {
        severity: "warning",
        code: "SUSPENDED",
        lenderCode: lender.code,
        count: 3,
        remedy: expect.any(String) as string,
      },
    ],
    lenders: [{ lenderCode: lender.code, state: "suspended", published: 5, waiting: 3, parked: 2, delivered: 0 }],
  });
  expect(text.stdout).toMatch(
    /^warning SUSPENDED LENDER\d+\n {2}Suspended since .*\n {2}The lender was notified by e-mail/m,
  );
  expect(text.stdout).toMatch(/^0 faults, 1 warning\.$/m);

  await query(service.app.database.em(), renameEvent, [lenderId, "LN-4", "LN-5"]);
  const faulty = await cli("doctor", "--json");
  expect(faulty.code).toBe(1);
  const { problems } = JSON.parse(faulty.stdout) as { problems: { severity: string; code: string }[] };
  expect(problems.map(({ severity, code }) => `${severity} ${code}`)).toEqual([
    "fault SEQUENCE_GAP",
    "warning SUSPENDED",
  ]);
  await query(service.app.database.em(), renameEvent, [lenderId, "LN-5", "LN-4"]);
});

test("a signing key that cannot be decrypted is skipped, its requests are answered with 503, and `doctor` names it", async () => {
  const other = await aLender(service);
  const [first] = [...other.secrets.keys()];
  const { apiKeyId: second, hmacSecret } = await cli.json("key", "create", other.code);
  other.secrets.set(String(second), String(hmacSecret));
  const spoil = (keyId: unknown) =>
    service.app.database.pool.query(
      "update lenders.api_key set secret = 'v1:00000000:' || split_part(secret, ':', 3) where id = $1",
      [keyId],
    );
  const doctor = async () => {
    const { code, stdout } = await cli("doctor", "--lender", other.code, "--json");
    const { faults, problems } = JSON.parse(stdout) as { faults: number; problems: { code: string; detail: string }[] };
    return { code, faults, unreadable: problems.filter((one) => one.code === "SECRET_UNREADABLE") };
  };
  expect(await doctor()).toEqual({ code: 0, faults: 0, unreadable: [] });

  await spoil(first);
  await sleep(CREDENTIAL_MAX_AGE_MS + 200);
  const registered = (await lenderByCode(service.app.database.em(), other.code))!;
  const row = { ...aRow("LN-1"), outstandingAmount: new AmountLiteral("5000") };
  await service.app.importCases({ lender: registered, rows: [row], dryRun: false, atomic: false });
  await other.waitForEvents((events) => events.some(({ kind }) => kind === "case.created"));
  const [path, timestamp] = ["/api/v1/partner/health", String(Date.now())];
  const signature = sign(other.secrets.get(first!)!, { method: "GET", path, timestamp, body: "" });
  const answer = await fetch(new URL(path, service.url), {
    headers: {
      Authorization: `Bearer ${first}`,
      "X-Service-Timestamp": timestamp,
      "X-Service-Signature": signature,
    },
  });
  expect({ status: answer.status, retryAfter: answer.headers.get("retry-after") }).toEqual({
    status: 503,
    retryAfter: "2",
  });
  expect(await answer.json()).toMatchObject({ code: "SERVICE_UNAVAILABLE" });
  expect(await doctor()).toMatchObject({
    code: 1,
    faults: 1,
    unreadable: [{ lenderCode: other.code, detail: expect.stringContaining(`${first}: `) as string }],
  });
});

test("`endpoint resume` ends a suspension once and records the reason", async () => {
  lender.receiverBehaviour = "ok";
  const resume = () => cli.json("endpoint", "resume", lender.code, "--reason", "their firewall");
  expect(await resume()).toEqual({ lenderCode: lender.code, resumed: true, state: "active", waiting: 3 });
  await lender.waitForEvents(() => received().length === 3);
  expect(await resume()).toMatchObject({ resumed: false, state: "active" });
  expect(await acts()).toMatchObject([
    {
      act: "endpoint.resumed",
      reason: "their firewall",
      data: { waiting: 3, suspendedAt: expect.any(String) as string },
    },
  ]);
});

test("`endpoint probe` ends a suspension when it succeeds", async () => {
  await query(service.app.database.em(), suspend, [lenderId]);
  const probed = await cli.json("endpoint", "probe", lender.code);
  expect(probed).toMatchObject({ delivered: true, recovered: true, error: null, endpoint: { state: "active" } });
});

test("`delivery replay` sends one or many events again, after a dry run that changes nothing", async () => {
  const replay = (...more: string[]) => cli("delivery", "replay", ...more);
  const many = ["--lender", lender.code, "--kind", "case.created", "--since", "1h"];
  const backwards = await cli(
    "delivery",
    "replay",
    "--lender",
    lender.code,
    "--since",
    "10:00",
    "--until",
    "09:59",
    "--dry-run",
  );
  expect(backwards).toMatchObject({ code: 2, stderr: "--until has to be after --since.\n" });
  const [rehearsed, rehearsedOne, unknown] = await Promise.all([
    replay(...many, "--dry-run"),
    replay(parked[0]!.eventId, "--dry-run", "--json"),
    replay(`evt_${"0".repeat(32)}`, "--reason", "x"),
  ]);
  expect(rehearsed).toMatchObject({
    code: 0,
    stdout: `2 events of ${lender.code} would be sent again. Nothing was changed.\n`,
  });
  expect(JSON.parse(rehearsedOne.stdout)).toMatchObject({ dryRun: true, count: 1, stateBefore: "parked" });
  expect(unknown.code).toBe(3);
  expect(await totals()).toMatchObject({ parked: 2, delivered: 3 });

  const one = await replay(parked[0]!.eventId, "--reason", "asked by them", "--json");
  expect(JSON.parse(one.stdout)).toMatchObject({ stateBefore: "parked", state: "waiting", lenderCode: lender.code });
  await lender.waitForEvents(() => received().length === 4);

  const rest = await replay(...many, "--wait", "--reason", "the outage is over", "--json");
  expect(JSON.parse(rest.stdout)).toMatchObject({ state: "done", count: 1, done: 1, ratePerSecond: 50 });
  expect(rest.stderr).toMatch(/^replay_\w{32} sends 1 event of \w+ again, 50 a second\.\n$/);
  await lender.waitForEvents(() => received().length === 5);
  const again = received()
    .slice(-2)
    .map(({ headers }) => headers["x-service-replay"]);
  expect(again).toEqual(["true", "true"]);
  expect(await acts()).toMatchObject([
    { act: "replay.started", reason: "the outage is over", data: { count: 1, kind: "case.created" } },
    { act: "delivery.replayed", reason: "asked by them", data: { eventId: parked[0]!.eventId } },
    { act: "endpoint.resumed" },
  ]);
});

test("`delivery cancel-replay` stops a running replay that is listed, and the replay sends no further events", async () => {
  // Enough events for minutes, so that even a slow machine cancels before the end.
  await lender.importCases(Array.from({ length: 300 }, (_, index) => aRow(`LN-R${index}`)));
  await until(async () => (await totals()).delivered === 305);
  const many = [
    "delivery",
    "replay",
    "--lender",
    lender.code,
    "--state",
    "delivered",
    "--rate",
    "1",
    "--reason",
    "drill",
  ];
  const started = await cli.json(...many);
  expect(started).toMatchObject({ state: "running", count: 305, filter: { states: ["delivered"], loan: null } });
  const id = String(started["replayId"]);
  const [listed, cancelled] = await Promise.all([
    cli.json("delivery", "replays", "--lender", lender.code),
    cli.json("delivery", "cancel-replay", id, "--reason", "enough"),
  ]);
  expect(listed["replays"]).toMatchObject([{ replayId: id, count: 305 }, { state: "done" }]);
  expect(cancelled).toMatchObject({ replayId: id, state: "cancelled" });
  expect(cancelled["done"]).toBeLessThan(305);
  const again = await cli("delivery", "cancel-replay", id, "--reason", "enough");
  expect(again.stdout).toMatch(/was already cancelled: \d+ of 305 events\.\n$/);
  expect(await acts()).toMatchObject([
    { act: "replay.cancelled", reason: "enough" },
    { act: "replay.started" },
    {},
    {},
    {},
  ]);
});

/** Returns what operators have done to the lender's webhooks since it was registered, newest first. */
async function acts() {
  const all = await actsOn(service.app.database.em(), lenderId);
  return all.filter(({ act }) => /^(endpoint\.resumed|delivery\.|replay\.)/.test(act));
}

function received() {
  return lender.events.filter(({ kind }) => kind !== "ping");
}

function totals() {
  return deliveryTotals(service.app.database.em(), lenderId);
}

const renameEvent = statement(
  "cli-webhooks-test.rename",
  `update webhooks.event set source_loan_number = $3
   where lender_id = $1 and source_loan_number = $2 and sequence = 2`,
);

const suspend = statement(
  "cli-webhooks-test.suspend",
  `update webhooks.endpoint set state = 'suspended', suspended_at = now(), next_probe_at = now() + interval '1 hour'
   where lender_id = $1`,
);
