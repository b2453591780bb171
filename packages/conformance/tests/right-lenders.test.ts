import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { CollectionsClient, createReceiver, expressHandler, MemoryStorage } from "@collections/lender-sdk";
import { type LenderTwin, startLenderTwin } from "@collections/lender-twin";
import { afterAll, expect, test } from "vitest";
import { CHECKS, runChecks, type CheckResult, type Settings } from "../src/index.ts";
import { namesOf, runOn, settingsFor } from "./run-on.ts";
import { KEY, lenderWith, MINT_AUTH, SECOND_KEY, serve, serveHttp, TestLender, unusedPort } from "./test-lender.ts";

const ALL = CHECKS.map(({ name }) => name).filter((name) => !name.startsWith("reconcile."));
const OF_RECEIVERS = ALL.filter((name) => name.startsWith("receiver."));
const closing: (() => Promise<void>)[] = [];

afterAll(() => Promise.all(closing.map((close) => close())));

test("a lender that follows the contract passes every check", async () => {
  const results = await runOn(new TestLender());
  expect(results.flatMap(({ findings }) => findings)).toEqual([]);
  expect(namesOf(results, "PASS")).toEqual(ALL.filter((name) => name !== "receiver.gap-healed"));
});

test("the lender twin passes every check", async () => {
  const servicePort = await unusedPort();
  const twin = await startLenderTwin({
    credentials: { apiKeyId: SECOND_KEY.keyId, hmacSecret: SECOND_KEY.secret },
    serviceUrl: `http://127.0.0.1:${servicePort}`,
    publicUrl: "https://pay.lender.example",
  });
  closing.push(() => twin.close());
  twin.connect({ apiKeyId: KEY.keyId, hmacSecret: KEY.secret });
  const state = await serveJson((loan) => viewOfTwin(twin, loan));

  const results = await run({
    ...settingsFor(twin.url),
    receiver: new URL(twin.callbackUrl),
    mint: new URL(twin.mintUrl),
    mintAuthHeader: twin.mintAuth,
    state: `${state}/{loan}`,
    servicePort,
  });
  expect(results.flatMap(({ findings }) => findings)).toEqual([]);
  expect(namesOf(results, "PASS")).toEqual(ALL);
});

test("the receiver of the lender SDK passes every check", async () => {
  const servicePort = await unusedPort();
  const views = new Map<string, object>();
  const receiver = createReceiver({
    secrets: { [KEY.keyId]: KEY.secret, [SECOND_KEY.keyId]: SECOND_KEY.secret },
    storage: new MemoryStorage(),
    client: new CollectionsClient({
      baseUrl: `http://127.0.0.1:${servicePort}`,
      apiKeyId: KEY.keyId,
      hmacSecret: KEY.secret,
    }),
    apply: ({ state }) => void views.set(state.sourceLoanNumber, state),
  });
  const handle = expressHandler(receiver);
  const server = await serveHttp(createServer((request, response) => void handle(request, response)));
  closing.push(server.close);
  const state = await serveJson((loan) => views.get(loan));

  const settings = { ...settingsFor(server.url), mint: undefined, state: `${state}/{loan}`, servicePort };
  const results = await run({ ...settings, receiver: new URL(`${server.url}/hooks`) });
  expect(results.flatMap(({ findings }) => findings)).toEqual([]);
  expect(namesOf(results, "PASS")).toEqual(OF_RECEIVERS);
});

test("the guide's sample endpoints pass every check without further options", async () => {
  const guide = await readFile(new URL("../../../docs/lenders/guide.md", import.meta.url), "utf8");
  const [, program = ""] = /^```js file=lender\.mjs\n([\s\S]*?)^```$/m.exec(guide)!;
  const env = { ...process.env, HMAC_SECRET: KEY.secret, MINT_TOKEN: MINT_AUTH.value, PORT: "0" };
  const lender = spawn(process.execPath, ["--input-type=module", "--eval", program], { env });
  closing.push(async () => void lender.kill());
  const [printed] = (await once(lender.stdout, "data")) as [Buffer];
  const [url = ""] = /http:\S+/.exec(String(printed)) ?? [];

  const settings = { ...settingsFor(url), secondKey: undefined, state: undefined };
  const urls = { receiver: new URL(`${url}/hooks/collections`), mint: new URL(`${url}/mint-link`) };
  const results = await run({ ...settings, ...urls });
  expect(results.flatMap(({ findings }) => findings)).toEqual([]);
  expect(namesOf(results, "SKIPPED")).toEqual(["receiver.state", "receiver.key-rotation", "receiver.gap-healed"]);
});

test("suggests --service-port for a receiver that waits after a gap", async () => {
  const right = TestLender.prototype;
  const waiting = lenderWith({
    take(event) {
      const held = this.views.get(event.sourceLoanNumber ?? "")?.sequence ?? 0;
      return event.sequence > held + 1 ? [503, "the case could not be read"] : right.take.call(this, event);
    },
  });
  const results = await runOn(waiting, { endpoint: "receiver" });
  expect(namesOf(results, "FAIL")).toEqual([]);
  expect(namesOf(results, "WARN")).toEqual(["receiver.out-of-order", "receiver.gap"]);
  const [finding] = results.find(({ name }) => name === "receiver.gap")!.findings;
  expect(finding).toMatchObject({ mend: expect.stringContaining("--service-port") as string });
});

test("reports a failing state URL once", async () => {
  let reads = 0;
  const forgetful = lenderWith({
    state(loan) {
      reads += 1;
      return reads > 10 ? [500] : TestLender.prototype.state.call(this, loan);
    },
  });
  const failing = (await runOn(forgetful)).filter(({ verdict }) => verdict === "FAIL");
  expect(failing.flatMap(({ findings }) => findings.map(({ problem }) => problem))).toEqual([
    "The state URL answered 500 instead of 200 or 404.",
  ]);
});

test.each([
  ["does not read the case after a gap", undefined, "The case was not read."],
  ["reads the case with a wrong signature", "sk_of_another_environment", "The signature does not match."],
])("catches a receiver that %s", async (_fault, hmacSecret, problem) => {
  const servicePort = await unusedPort();
  const client = new CollectionsClient({
    baseUrl: `http://127.0.0.1:${servicePort}`,
    apiKeyId: KEY.keyId,
    hmacSecret: hmacSecret ?? KEY.secret,
  });
  const right = TestLender.prototype;
  const lender = lenderWith({
    take(event) {
      if (event.sequence > 3 && hmacSecret !== undefined) void client.getCase(event.sourceLoanNumber!).catch(() => {});
      return right.take.call(this, event);
    },
  });
  const server = await serve(lender);
  closing.push(server.close);
  const stateLagMs = hmacSecret === undefined ? 100 : 300_000;
  const results = await run({ ...settingsFor(server.url), mint: undefined, servicePort, stateLagMs });
  expect(namesOf(results, "FAIL")).toEqual(["receiver.gap-healed"]);
  expect(JSON.stringify(results)).toContain(problem);
});

function run(settings: Settings): Promise<CheckResult[]> {
  const endpoints = settings.mint === undefined ? OF_RECEIVERS : ALL;
  const checks = CHECKS.filter(({ name }) => endpoints.includes(name));
  return runChecks(settings, checks, { begins() {}, ends() {} });
}

/**
 * Returns the state that the twin has for a loan, with the links minted for it; undefined if the twin does not know it.
 */
function viewOfTwin(twin: LenderTwin, loan: string): object | undefined {
  const links = [...twin.links.values()].filter(({ sourceLoanNumber }) => sourceLoanNumber === loan);
  const view = twin.loans.get(loan);
  if (view === undefined && links.length === 0) return undefined;
  return { ...view, links: links.map(({ linkId, amountMinor }) => ({ linkId, amount: Number(amountMinor) / 100 })) };
}

async function serveJson(lookUp: (name: string) => object | undefined): Promise<string> {
  const server = createServer((request, response) => {
    const found = lookUp(decodeURIComponent(request.url!.slice(1)));
    response.writeHead(found === undefined ? 404 : 200).end(JSON.stringify(found));
  });
  const { url, close } = await serveHttp(server);
  closing.push(close);
  return url;
}
