import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { publicId } from "@collections/database";
import { afterFile } from "@collections/testing";
import type { Command } from "commander";
import { beforeAll, expect, test } from "vitest";
import { createProgram } from "../../src/cli/program.ts";
import { commandsInProcess } from "../fixtures/commands.ts";
import { aLender, aRow, startTestService, type TestService } from "../fixtures/fixture.ts";
import { type Cli, secretFile } from "../fixtures/processes.ts";

const LENDER = "ACME";
const REASON = ["--reason", "tried by a test"];
const NEW_KEY = "b".repeat(64);

/** The values that the command lines need and that are known only when the stage is built. */
interface Stage {
  readonly asha: string;
  readonly ravi: string;
  readonly keys: readonly string[];
  readonly cases: string;
  readonly payments: string;
  readonly eventId: string;
  readonly day: string;
}

interface Act {
  /** The first kind of audit entry that the command adds. */
  readonly act: string;
  readonly args: (stage: Stage) => readonly string[];
  /** The exit code, if it is not 0. */
  readonly code?: number;
  /** Prepares the command, for example by suspending an endpoint. */
  readonly before?: () => Promise<unknown>;
  /** Runs the command. Default: `cli`. */
  readonly by?: () => Cli;
}

/** Splits a command line without quotes at blanks. */
function asked(line: string): string[] {
  return line.split(" ");
}

/** Commands that change nothing in the database. */
const READS = new Set([
  "lender list",
  "lender show",
  "key list",
  "field-partner list",
  "field-partner show",
  "operator list",
  "find",
  "case list",
  "case show",
  "endpoint show",
  "delivery list",
  "delivery show",
  "delivery replays",
  "today",
  "audit list",
  "doctor",
  "ledger statement",
  "ledger fees",
  "ledger verify",
  "ledger anchor-keys",
  "payment show",
  "payment reconciliations",
  "payment reconciliation",
  "payout due",
  "payout preview",
  "payout list",
  "payout show",
  // These two change no row of a lender or a field partner: the schema, and a file.
  "migrate",
  "persisted-operations make",
  "completion",
]);

/** A command line for each way to change something, in the order in which they are run on one stage. */
const ACTS: readonly (readonly [command: string, act: Act])[] = [
  [
    "lender create",
    { act: "key.created", args: () => ["--code", "BETA", "--name", "Beta", "--currency", "INR", "--country", "IN"] },
  ],
  ["lender update", { act: "lender.updated", args: () => [LENDER, "--callback-url", "http://127.0.0.1:9/hooks"] }],
  ["lender update", { act: "lender.updated", args: () => [LENDER, "--mint-auth-header", secretFile("X-Key: 1")] }],
  ["lender update", { act: "lender.updated", args: () => [LENDER, "--rate-limit", "confirm=70"] }],
  ["lender update", { act: "lender.updated", args: () => [LENDER, "--keep-personal-data", "180d"] }],
  ["lender update", { act: "lender.updated", args: () => [LENDER, "--fallback-bank", "accountNumber=50100012345678"] }],
  ["lender suspend", { act: "lender.suspended", args: () => [LENDER, ...REASON] }],
  ["lender resume", { act: "lender.resumed", args: () => [LENDER, ...REASON] }],
  ["key create", { act: "key.created", args: () => [LENDER] }],
  ["key use-for-signing", { act: "key.signing", args: ({ keys }) => [keys[1]!, ...REASON] }],
  ["key debug", { act: "key.debugged", args: ({ keys }) => [keys[0]!, ...REASON] }],
  ["key retire", { act: "key.retiring", args: ({ keys }) => [keys[1]!, "--on", "2099-01-01"] }],
  ["key revoke", { act: "key.revoked", args: ({ keys }) => [keys[1]!, ...REASON] }],
  [
    "field-partner create",
    { act: "field_partner.created", args: () => ["--name", "Zoya", "--phone", "+919820000077"] },
  ],
  ["field-partner update", { act: "field_partner.updated", args: ({ ravi }) => [ravi, "--name", "Ravi R", ...REASON] }],
  ["field-partner token", { act: "session.started", args: ({ ravi }) => [ravi] }],
  ["field-partner clear-code-limit", { act: "otp.limit_cleared", args: ({ ravi }) => [ravi, ...REASON] }],
  ["field-partner suspend", { act: "field_partner.suspended", args: ({ ravi }) => [ravi, ...REASON] }],
  ["field-partner resume", { act: "field_partner.resumed", args: ({ ravi }) => [ravi, ...REASON] }],
  ["operator link", { act: "operator.link_created", args: () => ["--name", "Meera", "--role", "viewer"] }],
  ["lender portal-link", { act: "operator.link_created", args: () => [LENDER, "--name", "Ravi"] }],
  ["operator revoke", { act: "operator.revoked", args: () => ["Meera", ...REASON] }],
  ["case import", { act: "case_file.imported", args: ({ cases }) => [cases, "--lender", LENDER, "--yes"] }],
  ["case assign", { act: "case.assign", args: ({ asha }) => [LENDER, "LN-2", asha] }],
  ["case assign", { act: "case.assign", args: ({ asha, ravi }) => [LENDER, "--from", asha, "--to", ravi, "--yes"] }],
  ["case list", { act: "contact.revealed", args: () => ["--lender", LENDER, "--with-contact", ...REASON] }],
  ["case show", { act: "contact.revealed", args: () => [LENDER, "LN-2", "--with-contact", ...REASON] }],
  ["case unassign", { act: "case.unassign", args: () => [LENDER, "LN-2"] }],
  ["case hold", { act: "case.hold", args: () => [LENDER, "LN-3", ...REASON] }],
  ["case erase", { act: "case.erased", args: () => [LENDER, "LN-3", "--yes", ...REASON] }],
  ["case release", { act: "case.release", args: () => [LENDER, "LN-3"] }],
  ["case close", { act: "case.close", args: () => [LENDER, "LN-3", ...REASON] }],
  ["endpoint probe", { act: "endpoint.probed", args: () => [LENDER], code: 1 }],
  ["endpoint mint", { act: "endpoint.mint_tested", args: () => [LENDER, "LN-2"], code: 1 }],
  ["endpoint resume", { act: "endpoint.resumed", args: () => [LENDER, ...REASON], before: suspendEndpoint }],
  ["delivery replay", { act: "delivery.replayed", args: ({ eventId }) => [eventId, ...REASON] }],
  [
    "delivery replay",
    { act: "replay.started", args: () => ["--lender", LENDER, "--state", "delivered", ...REASON], before: deliverAll },
  ],
  ["delivery cancel-replay", { act: "replay.cancelled", args: () => [replayId, ...REASON], before: findReplay }],
  ["sandbox play", { act: "sandbox.played", args: () => [LENDER, "LN-4", "visit"] }],
  ["payment move", { act: "payment.moved", args: () => [LENDER, "LN-1", "UTR1", "--to", "LN-2", "--yes", ...REASON] }],
  [
    "payment reverse",
    {
      act: "payment.reversed",
      args: () => [
        ...asked(`${LENDER} LN-2 UTR1 --reversal-reference RV-1 --reason bounced --yes --reversed-at`),
        new Date().toISOString(),
      ],
    },
  ],
  [
    "payment reconcile",
    { act: "reconciliation.run", args: ({ payments, day }) => [payments, "--lender", LENDER, "--day", day], code: 6 },
  ],
  [
    "payment reconcile",
    {
      act: "reconciliation.confirmed",
      args: ({ payments, day }) => [
        payments,
        ...asked(`--lender ${LENDER} --day ${day} --confirm-missing --yes`),
        ...REASON,
      ],
      code: 6,
    },
  ],
  [
    "payout record",
    {
      act: "payout.recorded",
      args: ({ asha, day }) => [asha, ...asked(`--currency INR --reference PO-1 --paid-on ${day} --amount 125.00`)],
    },
  ],
  ["ledger extend", { act: "ledger.extended", args: () => REASON }],
  ["master-key rotate", { act: "master_key.rotated", args: () => [], by: () => withNewKey }],
  ["master-key replace-lost", { act: "master_key.replaced", args: () => REASON, by: () => withLostKey }],
];

let service: TestService;
let cli: Cli;
let withNewKey: Cli;
let withLostKey: Cli;
let stage: Stage;
let replayId = "";

beforeAll(async () => {
  service = await startTestService({ hasWorker: false });
  const settings = { DATABASE_URL: service.databaseUrl };
  cli = commandsInProcess(settings);
  withNewKey = commandsInProcess({ ...settings, MASTER_KEY: NEW_KEY, MASTER_KEY_PREVIOUS: "a".repeat(64) });
  withLostKey = commandsInProcess({ ...settings, MASTER_KEY: "c".repeat(64) });
  const lender = await aLender(service, { code: LENDER });
  const person = async (name: string, phone: string) =>
    String((await cli.json("field-partner", "create", "--name", name, "--phone", phone))["fieldPartnerId"]);
  const [asha, ravi] = [await person("Asha", "+919820000071"), await person("Ravi", "+919820000072")];
  await lender.importCases(["LN-0", "LN-1", "LN-2", "LN-3", "LN-4"].map((loan) => aRow(loan)));
  await cli.json("case", "assign", LENDER, "LN-0", asha);
  const paidAt = new Date().toISOString();
  await lender.confirm("LN-0", { amount: 5_000, reference: "UTR0", paidAt, mode: "upi" });
  await lender.confirm("LN-1", { amount: 100, reference: "UTR1", paidAt, mode: "upi" });
  const { apiKeyId: second } = await cli.json("key", "create", LENDER);
  const { keys } = (await cli.json("key", "list", LENDER)) as { keys: { apiKeyId: string }[] };
  const first = keys.find(({ apiKeyId }) => apiKeyId !== second)!.apiKeyId;
  const { deliveries } = (await cli.json("delivery", "list", "--lender", LENDER)) as {
    deliveries: { eventId: string }[];
  };
  const folder = mkdtempSync(join(tmpdir(), "every-act-"));
  afterFile(() => rmSync(folder, { recursive: true }));
  const file = (name: string, ...lines: string[]) => {
    const path = join(folder, name);
    writeFileSync(path, `${lines.join("\n")}\n`);
    return path;
  };
  stage = {
    asha,
    ravi,
    keys: [first, String(second)],
    cases: file("cases.csv", "Loan No,Customer Name,Mobile,POS", "LN-9,Meera Nair,9820000009,500"),
    payments: file("payments.csv", "Loan No,UTR,Amount,Paid On,Payment Mode", `LN-2,UTR9,250.00,${paidAt},upi`),
    eventId: deliveries[0]!.eventId,
    day: new Intl.DateTimeFormat("en-CA", { timeZone: "Asia/Kolkata" }).format(),
  };
});

async function suspendEndpoint(): Promise<void> {
  const { pool } = service.app.database;
  await pool.query("update webhooks.endpoint set state = 'suspended', suspended_at = now(), next_probe_at = now()");
}

/** Marks all deliveries as delivered, as no worker runs. */
async function deliverAll(): Promise<void> {
  const { pool } = service.app.database;
  await pool.query("update webhooks.delivery set state = 'delivered', settled_at = now()");
}

async function findReplay(): Promise<void> {
  const { replays } = (await cli.json("delivery", "replays", "--lender", LENDER)) as {
    replays: { replayId: string }[];
  };
  ({ replayId } = replays[0]!);
}

interface Entry {
  readonly id: string;
  readonly act: string;
  readonly actor: string;
}

async function entriesAfter(id: string): Promise<Entry[]> {
  const { rows } = await service.app.database.pool.query<Entry>(
    `select id, act, actor from lenders.audit_entry where id > $1
     union all select id, act, actor from field_partners.audit_entry where id > $1
     union all select id, act, actor from operators.audit_entry where id > $1 order by id`,
    [id],
  );
  return rows;
}

async function lastEntry(): Promise<string> {
  return (await entriesAfter("00000000-0000-0000-0000-000000000000")).at(-1)!.id;
}

function commandsOf(command: Command, path: readonly string[] = []): string[] {
  if (command.commands.length === 0) return [path.join(" ")];
  return command.commands.flatMap((child) => commandsOf(child, [...path, child.name()]));
}

test("every command is known as one that reads or one that acts", async () => {
  const acting = new Set(ACTS.map(([command]) => command));
  const commands = commandsOf(await createProgram());
  expect(commands.filter((command) => !READS.has(command) && !acting.has(command))).toEqual([]);
  expect([...READS, ...acting].filter((command) => !commands.includes(command))).toEqual([]);
});

test.each(ACTS)("`%s` leaves an audit entry that names the operator", async (command, { act, args, ...more }) => {
  await more.before?.();
  const last = await lastEntry();
  const run = more.by?.() ?? cli;
  const ran = await run(...command.split(" "), ...args(stage));
  expect({ code: ran.code, said: ran.code === (more.code ?? 0) ? "" : ran.stdout + ran.stderr }).toEqual({
    code: more.code ?? 0,
    said: "",
  });
  const added = await entriesAfter(last);
  expect(added.map((entry) => entry.act)).toContain(act);
  const others = added.filter(({ actor }) => actor !== `operator:${userInfo().username}`);
  expect(others.filter((entry) => entry.act !== "session.ended")).toEqual([]);
});

test("a command that changes nothing leaves no audit entry", async () => {
  const last = await lastEntry();
  const id = publicId("case", "0193bf7c-52a0-7000-8000-000000000001");
  for (const args of [
    ["lender", "list"],
    ["find", id],
    ["case", "show", LENDER, "LN-2"],
    ["case", "list"],
    ["today"],
  ]) {
    await withLostKey(...args);
  }
  expect(await entriesAfter(last)).toEqual([]);
});
