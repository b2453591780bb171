import { directUrl, emptyDatabase } from "@collections/testing";
import { Client } from "pg";
import { beforeEach, describe, expect, test } from "vitest";
import { commandsInProcess } from "../fixtures/commands.ts";
import { runService, type Settings, startProcess } from "../fixtures/processes.ts";

const RIGHT = "1".repeat(64);
const WRONG = "2".repeat(64);
const LENDER = ["lender", "create", "--name", "Acme Finance", "--currency", "INR"];

let url: string;
let settings: (masterKey: string, others?: Settings) => Settings;

beforeEach(async () => {
  url = directUrl((await emptyDatabase()).url);
  settings = (masterKey, others = {}) => ({ DATABASE_URL: url, MASTER_KEY: masterKey, PORT: "0", ...others });
});

/** The expected result of a process with a wrong master key. */
const REFUSED = {
  code: 2,
  stderr: expect.stringMatching(/is not the master key of this database: .* Set MASTER_KEY to that key/) as string,
};

describe("a wrong MASTER_KEY", () => {
  test("makes every start and command exit with 2 and change nothing, if the right key has been used before", async () => {
    const service = await startProcess(settings(RIGHT));
    for (const ROLE of ["all", "server", "worker"])
      expect(await runService(settings(WRONG, { ROLE }))).toMatchObject(REFUSED);
    expect(await runService(settings(WRONG), "migrate")).toMatchObject(REFUSED);
    const cli = commandsInProcess(settings(WRONG));
    for (const command of [
      ["migrate"],
      ["lender", "list"],
      ["doctor"],
      ["ledger", "verify"],
      [...LENDER, "--code", "ACME"],
    ]) {
      expect(await cli(...command)).toMatchObject(REFUSED);
    }
    const { stdout } = await cli("master-key", "rotate", "--json");
    expect(JSON.parse(stdout)).toMatchObject({ error: { code: "WRONG_MASTER_KEY" } });
    expect(await commandsInProcess(settings(RIGHT)).json("lender", "list")).toEqual({ lenders: [], nextCursor: null });
    service.send("SIGTERM");
    expect(await service.ended).toMatchObject({ code: 0 });
  });

  test("makes a start exit with 2 if the database was migrated with the right key", async () => {
    expect(await runService(settings(RIGHT), "migrate")).toMatchObject({ code: 0 });
    expect(await runService(settings(WRONG))).toMatchObject(REFUSED);
  });

  test("prevents the migration of a database that is one migration behind", async () => {
    expect(await runService(settings(RIGHT), "migrate")).toMatchObject({ code: 0 });
    await asOwner("alter table lenders.lender drop column balance_cutoff");
    await asOwner("delete from collections_migration where name = 'lenders/0007-balance-cutoff'");
    const cli = commandsInProcess(settings(WRONG));
    expect(await runService(settings(WRONG))).toMatchObject(REFUSED);
    expect(await runService(settings(WRONG), "migrate")).toMatchObject(REFUSED);
    expect(await cli("migrate")).toMatchObject(REFUSED);
    expect(await cli("lender", "list")).toMatchObject(REFUSED);
    const applied = "select from collections_migration where name = 'lenders/0007-balance-cutoff'";
    expect(await asOwner(applied)).toBe(0);
    const { stdout } = await commandsInProcess(settings(RIGHT))("migrate");
    expect(stdout).toBe("Applied lenders/0007-balance-cutoff.\n");
    expect(await asOwner(applied)).toBe(1);
  });

  test("makes one of two first starts fail if they are concurrent and have different keys", async () => {
    const started = await Promise.allSettled([startProcess(settings(RIGHT)), startProcess(settings(WRONG))]);
    expect(started.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
    expect(started.find(({ status }) => status === "rejected")).toMatchObject({
      reason: { message: expect.stringMatching(/ended with 2 .*is not the master key of this database/s) as string },
    });
  });

  test("is rejected on a database of an earlier version, which did not check the key", async () => {
    await commandsInProcess(settings(RIGHT)).json(...LENDER, "--code", "ACME");
    await asOwner("delete from lenders.master_key_sentinel");
    expect(await runService(settings(WRONG))).toMatchObject(REFUSED);
    expect(await commandsInProcess(settings(RIGHT)).json("lender", "list")).toMatchObject({
      lenders: [{ lenderCode: "ACME" }],
    });
    expect(await asOwner("select from lenders.master_key_sentinel")).toBe(1);
  });
});

test("`master-key replace-lost` replaces a lost key, and `doctor` names the secrets to register again", async () => {
  const { apiKeyId } = await commandsInProcess(settings(RIGHT)).json(...LENDER, "--code", "ACME");
  const reason = ["--reason", "the old vault was destroyed"];
  expect(await commandsInProcess(settings(RIGHT))("master-key", "replace-lost", ...reason)).toMatchObject({ code: 1 });
  const cli = commandsInProcess(settings(WRONG));
  expect(await cli.json("master-key", "replace-lost", ...reason)).toMatchObject({ unreadable: 1, lenders: 1 });
  const { code, stdout } = await cli("doctor", "--json");
  expect({ code, ...(JSON.parse(stdout) as object) }).toMatchObject({
    code: 1,
    problems: [{ code: "SECRET_UNREADABLE", detail: expect.stringContaining(String(apiKeyId)) as string }],
  });
  expect(await commandsInProcess(settings(RIGHT))("lender", "list")).toMatchObject(REFUSED);
  expect(await asOwner("select from lenders.audit_entry where act = 'master_key.replaced'")).toBe(1);
  expect(await cli("master-key", "rotate")).toMatchObject({ code: 1 });
  await cli.json("key", "create", "ACME");
  await cli.json("key", "revoke", String(apiKeyId), "--reason", "its secret does not open");
  expect(await cli.json("master-key", "rotate")).toMatchObject({ resealed: 0 });
});

test("`migrate` in a sandbox without MASTER_KEY stores no sentinel", async () => {
  expect(await runService({ DATABASE_URL: url }, "migrate")).toMatchObject({ code: 0 });
  expect(await asOwner("select from lenders.master_key_sentinel")).toBe(0);
});

async function asOwner(text: string): Promise<number | null> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(text)).rowCount;
  } finally {
    await client.end();
  }
}
