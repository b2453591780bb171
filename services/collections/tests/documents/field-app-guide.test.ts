import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { migrate } from "@collections/database";
import { type LenderTwin, startFakeWhatsApp } from "@collections/lender-twin";
import { afterFile, testDatabase } from "@collections/testing";
import { beforeAll, expect, test, vi } from "vitest";
import { CLIENT_ERROR_CODES } from "../../src/graphql/plumbing/client-error.ts";
import { schema } from "../../src/graphql/schema.ts";
import { REFUSAL_CODES } from "../../src/mutation-results/refusal.ts";
import { schemas } from "../../src/schemas.ts";
import {
  differences,
  filled,
  type Given,
  givenBy,
  type GuideCommands,
  type GuideOperation,
  stepsOf,
} from "./fixtures/field-app-guide.ts";
import { AppClient, type GraphqlAnswer } from "../fixtures/graphql-client.ts";
import {
  type Cli,
  aRegisteredLender,
  askForLink,
  linkNow,
  operatorsCli,
  type ServiceProcess,
  type Settings,
  startProcess,
  withDirectUrl,
} from "../fixtures/processes.ts";

// A process starts in a second, and in ten on a machine that does much else.
vi.setConfig({ testTimeout: 180_000, hookTimeout: 300_000 });

const CLI = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));
const WHATSAPP = { token: "EAAG-token", phoneNumberId: "106540352242922" };
const guide = await readFile(new URL("../../../../docs/field-app/README.md", import.meta.url), "utf8");
const steps = stepsOf(guide);
const operations = steps.filter((step) => "runs" in step);
const run = promisify(execFile);

let settings: Settings;
let service: ServiceProcess;
let cli: Cli;
let lender: LenderTwin;
/** What answers and commands have given so far, the newest last. */
const given: Given[] = [];

beforeAll(async () => {
  const { url: databaseUrl } = await testDatabase("service", async (at) => {
    await migrate({ url: at, schemas, jobs: true });
  });
  const whatsapp = await startFakeWhatsApp(WHATSAPP);
  afterFile(() => whatsapp.close());
  settings = withDirectUrl({ DATABASE_URL: databaseUrl, WHATSAPP_BASE_URL: whatsapp.url });
  cli = operatorsCli(settings);
  service = await startProcess(settings);
  const twin = { publicUrl: "https://pay.acme.example" };
  const registration = {
    "fallback-upi-id": "acme@okbank",
    "fallback-bank": "accountNumber=50100012345678,ifsc=HDFC0000123,accountName=Acme Finance",
    "whatsapp-phone-number-id": WHATSAPP.phoneNumberId,
    "whatsapp-token": WHATSAPP.token,
  };
  lender = await aRegisteredLender(cli, service.url, registration, twin);
  await lender.importCases([aCase("LN-1001", { borrowerName: "Sunita Rao", outstandingAmount: 5000, dpd: 45 })]);
});

test("each operation has a name of its own and an answer", () => {
  const names = operations.map(({ name }) => name);
  expect(names.length).toBeGreaterThan(15);
  expect(new Set(names).size).toBe(names.length);
  const silent = operations.filter(({ runs }) => runs.every(({ shown }) => shown === undefined));
  expect(
    silent.map(({ name }) => name),
    "show its answer below it: JSON with `data`",
  ).toEqual([]);
});

test("every operation of the schema is in it", () => {
  const asked = operations.map(({ text }) => text).join();
  const roots = [schema.getQueryType()!, schema.getMutationType()!, schema.getSubscriptionType()!];
  const fields = roots.flatMap((type) => Object.keys(type.getFields()));
  // A screen asks for things by their kind.
  const missing = fields.filter(
    (name) => !["node", "nodes"].includes(name) && !new RegExp(`\\b${name}\\b`).test(asked),
  );
  expect(missing).toEqual([]);
});

test("every error code has a row that says what it means and what to do", () => {
  const rows = [...guide.matchAll(/^\| `([A-Z_]+)` *\| *\S.*\| *\S.*\|$/gm)].map(([, code]) => code!);
  expect(rows.toSorted()).toEqual([...new Set([...CLIENT_ERROR_CODES, ...REFUSAL_CODES])].toSorted());
});

test.each(steps.map((step) => [titleOf(step), step] as const))("%s is answered as shown", async (_title, step) => {
  const faults = "lines" in step ? await runCommands(step) : await runOperation(step);
  expect(faults).toEqual([]);
});

/** Where its answers are not as shown. */
async function runOperation(operation: GuideOperation): Promise<string[]> {
  const { name, text, runs } = operation;
  await BEFORE[name]?.();
  const faults: string[] = [];
  for (const { variables, shown } of runs) {
    const sent = filled(variables, given) as object;
    faults.push(...(text.startsWith("subscription") ? await watch(text, sent, shown) : await ask(text, sent, shown)));
  }
  await AFTER[name]?.();
  return faults;
}

async function ask(text: string, variables: object, shown: unknown): Promise<string[]> {
  const answer = await signedIn().ask(text, variables);
  given.push(...givenBy(answer.data));
  return differences(documentOf(answer), shown ?? { data: answer.data });
}

async function watch(text: string, variables: object, shown: unknown): Promise<string[]> {
  for await (const answer of signedIn().watch(text, variables)) {
    if (differences(documentOf(answer), shown).length === 0) return [];
  }
  return [`The stream has ended without ${JSON.stringify(shown)}`];
}

function documentOf({ data, errors }: GraphqlAnswer): object {
  return { data, ...(errors && { errors }) };
}

/** Pastes one line after the other into a shell, as a reader does who needs what the line before has printed. */
async function runCommands({ lines, shown }: GuideCommands): Promise<string[]> {
  const pnpm = `pnpm() { shift; '${process.execPath}' --disable-warning=ExperimentalWarning '${CLI}' "$@"; }`;
  const env: Record<string, string> = { PATH: process.env["PATH"]!, MASTER_KEY: "a".repeat(64), ...settings };
  let printed = "";
  for (const line of lines) {
    const command = line
      .replaceAll(/\w+…/g, (shownWord) => filled(shownWord, given) as string)
      .replace("http://127.0.0.1:3000", service.url);
    const [, name, value] = /^export (\w+)=(\S+)$/.exec(command) ?? [];
    if (name !== undefined) env[name] = value!;
    else ({ stdout: printed } = await run("bash", ["-c", `${pnpm}\n${command}`], { env }));
    given.push(...(printed.match(/[\w-]{4,}/g) ?? []).map((printedWord) => ({ name: "printed", value: printedWord })));
  }
  return shown === undefined ? [] : differences(JSON.parse(printed), shown);
}

/** What others do meanwhile. */
const BEFORE: Record<string, () => Promise<void>> = { Today: earlierToday, MyMoney: moneyMoves };
const AFTER: Record<string, () => Promise<void>> = { RequestOtp: codeComes, SignOut: signInAgain };

/** A sandbox shows the code in its log. */
async function codeComes(): Promise<void> {
  const { value: otpId } = given.findLast(({ name }) => name === "otpId")!;
  const ofThis = () =>
    service
      .log()
      .split("\n")
      .findLast((line) => line.includes(otpId) && line.includes("sign-in code"));
  while (!ofThis()) await pause(10);
  given.push({ name: "code", value: /sign-in code (\d{6})/.exec(ofThis()!)![1]! });
}

async function signInAgain(): Promise<void> {
  const app = new AppClient(service.url);
  given.push(...givenBy(await app.mutate("requestOtp", { phone: "+919800000001" }, "otpId")));
  await codeComes();
  const [otpId, code] = ["otpId", "code"].map((name) => given.findLast((one) => one.name === name)!.value);
  given.push(
    ...givenBy(await app.mutate("verifyOtp", { otpId, code, deviceName: "Redmi Note 12" }, "tokens { accessToken }")),
  );
}

/** Another borrower has paid all that was owed. */
async function earlierToday(): Promise<void> {
  await lender.importCases([aCase("LN-0900", { borrowerName: "Ravi Kumar", outstandingAmount: 2500, dpd: 80 })]);
  const fieldPartnerId = filled("fp_…", given) as string;
  await cli.json("case", "assign", "ACME", "LN-0900", fieldPartnerId);
  const id = await askForLink(signedIn());
  while ((await linkNow(signedIn(), id)).status !== "MINTED") await pause(10);
  await borrowerPays();
}

async function borrowerPays(): Promise<void> {
  const answer = await lender.pay([...lender.links.keys()].at(-1)!);
  expect(answer.status, answer.rawBody).toBe(200);
}

/** A part is paid here, and an operator sends what the other case has brought. */
async function moneyMoves(): Promise<void> {
  await borrowerPays();
  const fieldPartnerId = filled("fp_…", given) as string;
  const paidOn = new Date().toISOString().slice(0, 10);
  const transfer = ["--currency", "INR", "--reference", "UTR506134218", "--paid-on", paidOn, "--amount", "62.50"];
  await cli.json("payout", "record", fieldPartnerId, ...transfer);
}

/** With the newest token there is, or without one. */
function signedIn(): AppClient {
  return new AppClient(service.url, filled("fpt_…", given) as string);
}

function aCase(sourceLoanNumber: string, fields: Record<string, unknown>): object {
  const address = { line1: "14 Karve Road", city: "Pune", postalCode: "411001", latitude: 18.5236, longitude: 73.8478 };
  const contact = { borrowerPhone: "+919811122233", borrowerEmail: "sunita@example.com", addresses: [address] };
  return { sourceLoanNumber, ...contact, ...fields };
}

function titleOf(step: GuideOperation | GuideCommands): string {
  return "runs" in step ? step.name : step.lines.join("; ");
}
