import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { migrate } from "@collections/database";
import { createDatabase } from "@collections/entities";
import { createVault, lenderByCode, mintRegistration, whatsappAccount } from "@collections/lenders";
import { testDatabase } from "@collections/testing";
import { beforeAll, describe, expect, test } from "vitest";
import { jobsSchema, schemas } from "../../src/schemas.ts";
import { commandsInProcess } from "../fixtures/commands.ts";
import { type Cli, secretFile, withDirectUrl } from "../fixtures/processes.ts";

const OLD_KEY = "a".repeat(64);
const NEW_KEY = "b".repeat(64);
const SECRETS = ["Bearer mint-s3cret", "EAAG-whatsapp-t0ken", "0123456789abcdef-app", "verify-t0ken"];

let databaseUrl: string;
let cli: Cli;
let created: Record<string, unknown>;

beforeAll(async () => {
  ({ url: databaseUrl } = await testDatabase("service", async (at) => {
    await migrate({ url: at, schemas, jobsSchema, jobs: true });
  }));
  cli = commandsInProcess({ DATABASE_URL: databaseUrl });
  created = await cli.json(
    ..."lender create --code ACME --currency INR --language hi-IN --time-zone Asia/Kolkata --country IN".split(" "),
    "--name",
    "Acme Finance",
    "--callback-url",
    "https://acme.example/hooks",
    "--mint-link-url",
    "https://acme.example/mint",
    "--mint-auth-header",
    secretFile(`Authorization: ${SECRETS[0]}`),
    ..."--technical-contact dev@acme.example --technical-contact ops@acme.example".split(" "),
    ..."--fallback-upi-id acme@okbank --commission-percent 2.5".split(" "),
    "--fallback-bank",
    "accountNumber=50100012345678,ifsc=HDFC0000123,accountName=Acme Finance, Mumbai",
    "--fallback-instructions",
    "Send us the receipt.",
    ..."--whatsapp-phone-number-id 106540352242922 --whatsapp-template payment_link --whatsapp-token".split(" "),
    secretFile(SECRETS[1]!),
    "--whatsapp-app-secret",
    secretFile(SECRETS[2]!),
    "--whatsapp-verify-token",
    secretFile(SECRETS[3]!),
  );
});

test("`lender create` prints the key's secret, but `lender show` and `lender list` never do", async () => {
  expect(created).toEqual({
    lenderCode: "ACME",
    apiKeyId: expect.stringMatching(/^lk_\w{16,}$/) as string,
    hmacSecret: expect.stringMatching(/^sk_sandbox_[0-9a-f]{64}$/) as string,
  });
  const seen = await Promise.all([cli("lender", "show", "acme", "--json"), cli("lender", "list", "--json")]);
  for (const { code, stdout, stderr } of seen) {
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    for (const secret of [...SECRETS, String(created["hmacSecret"])]) expect(stdout).not.toContain(secret);
    expect(stdout).not.toMatch(/sk_sandbox|v1:[0-9a-f]{8}:/);
  }
  const [shown, listed] = seen.map(({ stdout }) => stdout);
  expect(JSON.parse(shown!)).toMatchObject({
    lenderCode: "ACME",
    name: "Acme Finance",
    country: "IN",
    currency: "INR",
    language: "hi-IN",
    timeZone: "Asia/Kolkata",
    technicalContacts: ["dev@acme.example", "ops@acme.example"],
    callbackUrl: "https://acme.example/hooks",
    mintLinkUrl: "https://acme.example/mint",
    commissionPercent: "2.5",
    hasMintAuthHeader: true,
    fallback: {
      upiId: "acme@okbank",
      bank: { accountNumber: "50100012345678", ifsc: "HDFC0000123", accountName: "Acme Finance, Mumbai" },
      instructions: "Send us the receipt.",
    },
    whatsapp: {
      phoneNumberId: "106540352242922",
      template: "payment_link",
      hasToken: true,
      hasAppSecret: true,
      hasVerifyToken: true,
    },
    state: "active",
  });
  expect(JSON.parse(listed!)).toMatchObject({ lenders: [{ lenderCode: "ACME", state: "active" }] });
});

test("`lender update --payment-link-host` sets several hosts, replaces the whole list, and empties it", async () => {
  const hostsAfter = async (...options: string[]): Promise<unknown> => {
    const { code, stdout } = await cli("lender", "update", "ACME", ...options, "--json");
    const { stdout: shown } = await cli("lender", "show", "ACME", "--json");
    expect({ code, shown: JSON.parse(shown) as unknown }).toEqual({ code: 0, shown: JSON.parse(stdout) as unknown });
    return (JSON.parse(shown) as { paymentLinkHosts: unknown }).paymentLinkHosts;
  };
  const setHosts = (...hosts: string[]) => hostsAfter(...hosts.flatMap((host) => ["--payment-link-host", host]));
  expect(await setHosts("Pay.Acme.example", "links.acme.example:8443")).toEqual([
    "pay.acme.example",
    "links.acme.example:8443",
  ]);
  expect(await hostsAfter("--name", "Acme Finance")).toHaveLength(2);
  expect(await setHosts("pay.acme.example")).toEqual(["pay.acme.example"]);
  const refused = await cli("lender", "update", "ACME", "--payment-link-host", "https://pay.acme.example/l", "--json");
  expect({ code: refused.code, error: JSON.parse(refused.stdout) as unknown }).toMatchObject({
    code: 1,
    error: { error: { code: "INVALID_HOST", detail: expect.stringContaining("pay.acme.example:8443") as unknown } },
  });
  expect(await setHosts("")).toEqual([]);
});

describe("an option of `lender update` that takes a secret", () => {
  const CLI_MAIN = fileURLToPath(new URL("../../bin/collections.mjs", import.meta.url));
  const update = ["lender", "update", "ACME", "--json"];

  async function registered(): Promise<{ header: unknown; account: unknown }> {
    const database = await createDatabase({ url: databaseUrl, schemas, jobsSchema });
    try {
      const [em, vault] = [database.em(), createVault({ masterKey: OLD_KEY })];
      const { id } = (await lenderByCode(em, "ACME"))!;
      const { authHeader: header } = (await mintRegistration(em, vault, id))!;
      return { header, account: await whatsappAccount(em, vault, id) };
    } finally {
      await database.close();
    }
  }

  /** Runs the command in its own process, with `input` on its standard input. */
  function withInput(input: string, ...options: string[]) {
    const env = { PATH: process.env["PATH"], MASTER_KEY: OLD_KEY, ...withDirectUrl({ DATABASE_URL: databaseUrl }) };
    return spawnSync(process.execPath, [CLI_MAIN, ...update, ...options], { input, env, encoding: "utf8" });
  }

  test("reads the secret from a file or standard input, removes a final line break, and prints no warning", async () => {
    const file = secretFile("X-Mint: from a file");
    const { status, stdout, stderr } = withInput(
      "token-of-input\r\n",
      "--mint-auth-header",
      file,
      "--whatsapp-token",
      "-",
    );
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(JSON.parse(stdout)).toMatchObject({ lenderCode: "ACME" });
    expect(await registered()).toMatchObject({
      header: { name: "X-Mint", value: "from a file" },
      account: { token: "token-of-input" },
    });
  });

  test("accepts a literal secret, and prints a warning on stderr that does not contain the secret", async () => {
    const { code, stdout, stderr } = await cli(...update, "--mint-auth-header", "X-Mint: literal-s3cret");
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ lenderCode: "ACME" });
    expect(stderr).toMatch(/^Warning: the value of --mint-auth-header can be read .* --mint-auth-header @file.*\n$/);
    expect(stderr).not.toContain("literal-s3cret");
    expect(await registered()).toMatchObject({ header: { value: "literal-s3cret" } });
  });

  test("changes nothing when the secret cannot be read, and names the option", async () => {
    const before = await registered();
    const missing = await cli(...update, "--name", "Other", "--whatsapp-token", "@/nowhere/token");
    const empty = await cli(...update, "--name", "Other", "--whatsapp-token", secretFile(""));
    const twice = await cli(...update, "--whatsapp-token", "-", "--whatsapp-app-secret", "-");
    expect([missing, empty, twice].map(({ code }) => code)).toEqual([2, 2, 2]);
    expect(missing.stderr).toBe("--whatsapp-token: /nowhere/token cannot be read (ENOENT).\n");
    expect(empty.stderr).toMatch(/^--whatsapp-token: .* is empty\.\n$/);
    expect(twice.stderr).toMatch(/only one option can read standard input/);
    expect(await registered()).toEqual(before);
  });
});

test("a rejected `lender create` changes nothing, exits with 1, and names the field and valid values", async () => {
  const create = ["lender", "create", "--code", "NEXT", "--name", "Next", "--currency", "INR"];
  const refused: [string[], string, RegExp][] = [
    [
      ["lender", "create", "--code", "ACME", "--name", "A", "--currency", "INR"],
      "DUPLICATE_CODE",
      /code ACME already exists/,
    ],
    [[...create, "--callback-url", "http://next.example"], "INVALID_URL", /callbackUrl: .*https/],
    [[...create, "--mint-auth-header", "no colon s3cret"], "INVALID_HEADER", /mintAuthHeader: /],
  ];
  await Promise.all(
    refused.map(async ([line, code, detail]) => {
      const result = await cli(...line, "--json");
      expect({ line, code: result.code }).toEqual({ line, code: 1 });
      expect(JSON.parse(result.stdout)).toEqual({ error: { code, detail: expect.stringMatching(detail) as string } });
      expect(result.stderr).toMatch(detail);
      expect(result.stderr).not.toContain("s3cret");
    }),
  );
  expect(await cli.json("lender", "list")).toMatchObject({
    lenders: [{ lenderCode: "ACME", commissionPercent: "2.5" }],
  });
});

test("`lender update` changes the given fields, keeps the others, and clears fields that are given as empty", async () => {
  const updated = await cli.json(
    ..."lender update ACME --commission-percent 3 --technical-contact new@acme.example --name".split(" "),
    "Acme Bank",
    "--fallback-upi-id",
    "",
    "--callback-url",
    "",
  );
  expect(updated).toMatchObject({
    lenderCode: "ACME",
    name: "Acme Bank",
    currency: "INR",
    commissionPercent: "3",
    fallback: { upiId: null, instructions: "Send us the receipt." },
    callbackUrl: null,
    technicalContacts: ["new@acme.example"],
    mintLinkUrl: "https://acme.example/mint",
  });
});

test("`lender suspend` and `lender resume` print the state, and exit with 3 for an unknown lender", async () => {
  expect(await cli.json("lender", "suspend", "ACME", "--reason", "asked by their CTO")).toEqual({
    lenderCode: "ACME",
    state: "suspended",
  });
  const [resumed, unknown] = await Promise.all([
    cli("lender", "resume", "ACME", "--reason", "paid"),
    cli("lender", "suspend", "NOBODY", "--reason", "x", "--json"),
  ]);
  expect(resumed).toEqual({ code: 0, stdout: "Lender ACME is active.\n", stderr: "" });
  expect(unknown).toMatchObject({ code: 3, stderr: "There is no lender NOBODY.\n" });
  expect(JSON.parse(unknown.stdout)).toEqual({
    error: { code: "LENDER_NOT_FOUND", detail: "There is no lender NOBODY." },
  });
});

test("`master-key rotate` seals every secret with the new key, or reports why it cannot", async () => {
  const rotate = (settings: Record<string, string>) =>
    commandsInProcess({ DATABASE_URL: databaseUrl, ...settings })("master-key", "rotate", "--json");
  const stranger = await rotate({ MASTER_KEY: NEW_KEY, MASTER_KEY_PREVIOUS: "c".repeat(64) });
  expect(stranger).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("is not the master key of this database") as string,
  });
  expect(JSON.parse(stranger.stdout)).toMatchObject({ error: { code: "WRONG_MASTER_KEY" } });

  const rotated = await rotate({ MASTER_KEY: NEW_KEY, MASTER_KEY_PREVIOUS: OLD_KEY });
  expect(rotated).toMatchObject({ code: 0, stderr: "" });
  expect(JSON.parse(rotated.stdout)).toEqual({
    resealed: 5,
    masterKeyId: expect.stringMatching(/^[0-9a-f]{8}$/) as string,
  });
  expect(await rotate({ MASTER_KEY: "" })).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("Set MASTER_KEY to the new key") as string,
  });
});
