import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { migrate } from "@collections/database";
import { type LenderTwin, startFakeWhatsApp } from "@collections/lender-twin";
import { afterFile, testDatabase } from "@collections/testing";
import { beforeAll, expect, test } from "vitest";
import { CLIENT_ERROR_CODES } from "../../src/graphql/plumbing/client-error.ts";
import { schema } from "../../src/graphql/schema.ts";
import { REFUSAL_CODES } from "../../src/mutation-results/refusal.ts";
import { jobsSchema, schemas } from "../../src/schemas.ts";
import {
  differences,
  fillEllipses,
  type KnownValue,
  valuesIn,
  type GuideCommands,
  type GuideOperation,
  stepsOf,
} from "./fixtures/field-app-guide.ts";
import { commandsInProcess } from "../fixtures/commands.ts";
import { AppClient, type GraphqlAnswer } from "../fixtures/graphql-client.ts";
import {
  type Cli,
  aRegisteredLender,
  requestLink,
  readLink,
  type ServiceProcess,
  type Settings,
  startProcess,
  withDirectUrl,
} from "../fixtures/processes.ts";

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
/** Values that answers and commands have returned so far, the newest last. */
const known: KnownValue[] = [];

beforeAll(async () => {
  const { url: databaseUrl } = await testDatabase("service", async (at) => {
    await migrate({ url: at, schemas, jobsSchema, jobs: true });
  });
  const whatsapp = await startFakeWhatsApp(WHATSAPP);
  afterFile(() => whatsapp.close());
  settings = withDirectUrl({ DATABASE_URL: databaseUrl, WHATSAPP_BASE_URL: whatsapp.url });
  cli = commandsInProcess(settings);
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

test("each operation of the field app guide has a unique name and an answer", () => {
  const names = operations.map(({ name }) => name);
  expect(names.length).toBeGreaterThan(15);
  expect(new Set(names).size).toBe(names.length);
  const unanswered = operations.filter(({ runs }) => runs.every(({ expected }) => expected === undefined));
  expect(
    unanswered.map(({ name }) => name),
    "show the answer below the operation: JSON with `data`",
  ).toEqual([]);
});

test("the field app guide uses every root field of the schema", () => {
  const documents = operations.map(({ text }) => text).join();
  const roots = [schema.getQueryType()!, schema.getMutationType()!, schema.getSubscriptionType()!];
  const fields = roots.flatMap((type) => Object.keys(type.getFields()));
  // The guide does not have to use `node` and `nodes`: screens use the root field of each type instead.
  const missing = fields.filter(
    (name) => !["node", "nodes"].includes(name) && !new RegExp(`\\b${name}\\b`).test(documents),
  );
  expect(missing).toEqual([]);
});

test("the field app guide has a row for every error code, with its meaning and what to do", () => {
  const rows = [...guide.matchAll(/^\| `([A-Z_]+)` *\| *\S.*\| *\S.*\|$/gm)].map(([, code]) => code!);
  expect(rows.toSorted()).toEqual([...new Set([...CLIENT_ERROR_CODES, ...REFUSAL_CODES])].toSorted());
});

test.each(steps.map((step) => [titleOf(step), step] as const))(
  "the field app guide shows the real answer to: %s",
  async (_title, step) => {
    const faults = "lines" in step ? await runCommands(step) : await runOperation(step);
    expect(faults).toEqual([]);
  },
);

/** Runs an operation and returns the differences between its actual answers and the answers that the guide shows. */
async function runOperation(operation: GuideOperation): Promise<string[]> {
  const { name, text, runs } = operation;
  await BEFORE[name]?.();
  const faults: string[] = [];
  for (const { variables, expected } of runs) {
    const sent = fillEllipses(variables, known) as object;
    faults.push(
      ...(text.startsWith("subscription") ? await watch(text, sent, expected) : await ask(text, sent, expected)),
    );
  }
  await AFTER[name]?.();
  return faults;
}

async function ask(text: string, variables: object, expected: unknown): Promise<string[]> {
  const answer = await signedIn().ask(text, variables);
  known.push(...valuesIn(answer.data));
  return differences(documentOf(answer), expected ?? { data: answer.data });
}

async function watch(text: string, variables: object, expected: unknown): Promise<string[]> {
  for await (const answer of signedIn().watch(text, variables)) {
    if (differences(documentOf(answer), expected).length === 0) return [];
  }
  return [`The stream has ended without ${JSON.stringify(expected)}`];
}

function documentOf({ data, errors }: GraphqlAnswer): object {
  return { data, ...(errors && { errors }) };
}

/** Runs the lines one after the other, because a line may need a value that an earlier line has printed. */
async function runCommands({ lines, expected }: GuideCommands): Promise<string[]> {
  const pnpm = `pnpm() { shift; '${process.execPath}' --disable-warning=ExperimentalWarning '${CLI}' "$@"; }`;
  const env: Record<string, string> = { PATH: process.env["PATH"]!, MASTER_KEY: "a".repeat(64), ...settings };
  let printed = "";
  for (const line of lines) {
    const command = line
      .replaceAll(/\w+…/g, (shownWord) => fillEllipses(shownWord, known) as string)
      .replace("http://127.0.0.1:3000", service.url);
    const [, name, value] = /^export (\w+)=(\S+)$/.exec(command) ?? [];
    if (name !== undefined) env[name] = value!;
    else ({ stdout: printed } = await run("bash", ["-c", `${pnpm}\n${command}`], { env }));
    known.push(...(printed.match(/[\w-]{4,}/g) ?? []).map((printedWord) => ({ name: "printed", value: printedWord })));
  }
  return expected === undefined ? [] : differences(JSON.parse(printed), expected);
}

/** Actions of other people before and after some of the guide's operations, keyed by the operation's name. */
const BEFORE: Record<string, () => Promise<void>> = {
  Today: earlierToday,
  MyMoney: payAndPayOut,
  Returned: reversePaidOut,
};
const AFTER: Record<string, () => Promise<void>> = { RequestOtp: waitForCode, SignOut: signInAgain };

/** Waits for the one-time password in the sandbox's log. */
async function waitForCode(): Promise<void> {
  const { value: otpId } = known.findLast(({ name }) => name === "otpId")!;
  const ofThis = () =>
    service
      .log()
      .split("\n")
      .findLast((line) => line.includes(otpId) && line.includes("sign-in code"));
  while (!ofThis()) await pause(10);
  known.push({ name: "code", value: /sign-in code (\d{6})/.exec(ofThis()!)![1]! });
}

async function signInAgain(): Promise<void> {
  const app = new AppClient(service.url);
  known.push(...valuesIn(await app.mutate("requestOtp", { phone: "+919800000001" }, "otpId")));
  await waitForCode();
  const [otpId, code] = ["otpId", "code"].map((name) => known.findLast((one) => one.name === name)!.value);
  known.push(
    ...valuesIn(await app.mutate("verifyOtp", { otpId, code, deviceName: "Redmi Note 12" }, "tokens { accessToken }")),
  );
}

/** Lets another borrower pay the whole amount of a second case. */
async function earlierToday(): Promise<void> {
  await lender.importCases([aCase("LN-0900", { borrowerName: "Ravi Kumar", outstandingAmount: 2500, dpd: 80 })]);
  const fieldPartnerId = fillEllipses("fp_…", known) as string;
  await cli.json("case", "assign", "ACME", "LN-0900", fieldPartnerId);
  const id = await requestLink(signedIn());
  while ((await readLink(signedIn(), id)).status !== "MINTED") await pause(10);
  await borrowerPays();
}

async function borrowerPays(): Promise<void> {
  const answer = await lender.pay([...lender.links.keys()].at(-1)!);
  expect(answer.status, answer.rawBody).toBe(200);
}

/** Lets the borrower pay a part, and an operator record a payout of the other case's earning. */
async function payAndPayOut(): Promise<void> {
  await borrowerPays();
  const fieldPartnerId = fillEllipses("fp_…", known) as string;
  const paidOn = new Date().toISOString().slice(0, 10);
  const transfer = ["--currency", "INR", "--reference", "UTR506134218", "--paid-on", paidOn, "--amount", "62.50"];
  await cli.json("payout", "record", fieldPartnerId, ...transfer);
}

/** Lets the bank return the payment whose earning was paid out. */
async function reversePaidOut(): Promise<void> {
  const { reference } = lender.captures.find(({ sourceLoanNumber }) => sourceLoanNumber === "LN-0900")!;
  const reversedAt = new Date().toISOString();
  const what = ["--reversal-reference", "RV-77", "--reversed-at", reversedAt, "--reason", "bank_reversed"];
  await cli.json("payment", "reverse", "ACME", "LN-0900", reference, ...what, "--yes");
}

/** Returns a client with the newest access token. */
function signedIn(): AppClient {
  return new AppClient(service.url, fillEllipses("fpt_…", known) as string);
}

function aCase(sourceLoanNumber: string, fields: Record<string, unknown>): object {
  const address = { line1: "14 Karve Road", city: "Pune", postalCode: "411001", latitude: 18.5236, longitude: 73.8478 };
  const contact = { borrowerPhone: "+919811122233", borrowerEmail: "sunita@example.com", addresses: [address] };
  return { sourceLoanNumber, ...contact, ...fields };
}

function titleOf(step: GuideOperation | GuideCommands): string {
  return "runs" in step ? step.name : step.lines.join("; ");
}
