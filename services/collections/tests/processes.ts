import { type LenderTwin, type LenderTwinOptions, startLenderTwin } from "@collections/lender-twin";
import { afterFile, directUrl } from "@collections/testing";
import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import { AppClient } from "./graphql-client.ts";

/** Settings by their names in the environment. */
export type Settings = Record<string, string>;

/** How a process ended. */
export interface Ending {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** The service as a process of its own, as an operator starts it. */
export interface ServiceProcess {
  readonly url: string;
  readonly pid: number;
  /** What it wrote to stderr so far. */
  readonly log: () => string;
  readonly send: (signal: NodeJS.Signals) => void;
  readonly ended: Promise<Ending>;
}

/** What a command printed and how it ended. */
export interface CommandResult {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** The operators' CLI with settings: each call is a process. */
export interface Cli {
  (...args: string[]): Promise<CommandResult>;
  /** Runs a command that must succeed, with `--json`, and reads its document. */
  json(...args: string[]): Promise<Record<string, unknown>>;
}

const MAIN = fileURLToPath(new URL("../src/main.ts", import.meta.url));
const CLI_MAIN = fileURLToPath(new URL("../src/cli/main.ts", import.meta.url));
const FLAGS = ["--disable-warning=ExperimentalWarning"];
export const FIELD_PARTNER_PHONE = "+919820000001";
export const BORROWER_PHONE = "+919800000001";
/** Below the ports that systems give to outgoing connections, so that a port stays ours while nobody listens. */
const FIRST_PORT = 21_000;
const PORTS = 10_000;

/**
 * Starts the service and resolves once it says that it is ready; it is killed after the test file.
 * @param main the file to run, for a service that lives in a checkout of its own
 */
export async function startProcess(settings: Settings, main: string = MAIN): Promise<ServiceProcess> {
  const { child, output } = run([main], {
    PORT: "0",
    MASTER_KEY: "a".repeat(64),
    OUTBOUND_ALLOW: "127.0.0.1:*",
    WEBHOOK_LADDER: "0s,100ms,200ms",
    ...settings,
  });
  const ended = ending(child);
  const url = await new Promise<string>((resolve, reject) => {
    child.stdout?.on("data", () => {
      const ready = /is ready at (\S+)\n/.exec(output.stdout);
      if (ready) resolve(ready[1]!);
    });
    void ended.then(({ code, signal }) =>
      reject(new Error(`The service ended with ${code ?? signal} before it was ready: ${output.stderr.slice(-2_000)}`)),
    );
  });
  return { url, pid: child.pid!, log: () => output.stderr, send: (signal) => void child.kill(signal), ended };
}

/** Runs the service until it ends by itself. */
export async function runService(settings: Settings, ...args: string[]): Promise<CommandResult> {
  const { child, output } = run([MAIN, ...args], settings);
  const { code } = await ending(child);
  return { code, ...output };
}

/** The CLI as an operator runs it, on the database of the settings. */
export function operatorsCli(settings: Settings): Cli {
  async function cli(...args: string[]): Promise<CommandResult> {
    const { child, output } = run([CLI_MAIN, ...args], {
      MASTER_KEY: "a".repeat(64),
      OUTBOUND_ALLOW: "127.0.0.1:*",
      ...settings,
    });
    const { code } = await ending(child);
    return { code, ...output };
  }
  return Object.assign(cli, {
    async json(...args: string[]) {
      const { code, stdout, stderr } = await cli(...args, "--json");
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      return JSON.parse(stdout) as Record<string, unknown>;
    },
  });
}

/**
 * A lender on sockets of its own, registered by an operator and connected to `serviceUrl`.
 * @param options of `lender create`, by their names
 */
export async function aRegisteredLender(
  cli: Cli,
  serviceUrl: string,
  options: Record<string, string> = {},
  twinOptions: LenderTwinOptions = {},
): Promise<LenderTwin> {
  const twin = await startLenderTwin({ ...twinOptions, serviceUrl });
  afterFile(() => twin.close());
  const registration = {
    code: "ACME",
    name: "Acme Finance",
    currency: "INR",
    "callback-url": twin.callbackUrl,
    "mint-link-url": twin.mintUrl,
    "mint-auth-header": `${twin.mintAuth.name}: ${twin.mintAuth.value}`,
    "commission-percent": "2.5",
    ...options,
  };
  const given = Object.entries(registration).flatMap(([name, value]) => {
    return [`--${name}`, SECRET_OPTIONS.has(name) ? secretFile(value) : value];
  });
  const { apiKeyId, hmacSecret } = await cli.json("lender", "create", ...given);
  twin.connect({ apiKeyId: String(apiKeyId), hmacSecret: String(hmacSecret) });
  return twin;
}

const SECRET_OPTIONS = new Set(["mint-auth-header", "whatsapp-token", "whatsapp-app-secret", "whatsapp-verify-token"]);

/** A file with a secret, as the commands take it: `@` and its path. */
export function secretFile(secret: string): string {
  const folder = mkdtempSync(join(tmpdir(), "collections-secret-"));
  afterFile(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, "secret.txt");
  writeFileSync(path, `${secret}\n`, { mode: 0o600 });
  return `@${path}`;
}

/** A person who visits borrowers, registered by an operator: the `fp_…` id. */
export async function aRegisteredFieldPartner(cli: Cli, phone: string = FIELD_PARTNER_PHONE): Promise<string> {
  const person = await cli.json("field-partner", "create", "--name", "Asha Rao", "--phone", phone);
  return String(person["fieldPartnerId"]);
}

/** Their app, signed in with a token that an operator issued. */
export async function anApp(cli: Cli, serviceUrl: string, fieldPartnerId: string): Promise<AppClient> {
  const { accessToken } = await cli.json("field-partner", "token", fieldPartnerId);
  return new AppClient(serviceUrl, String(accessToken));
}

/** At the door of their only case: starts a visit and asks for a link of ₹2,500; the link's id in the app. */
export async function askForLink(app: AppClient, channels: readonly string[] = []): Promise<string> {
  const { data } = await app.ask("{ cases(first: 1) { edges { node { id } } } }");
  const caseId = String(data?.["cases"].edges[0].node.id);
  const visitId = randomUUID();
  await app.mutate("startVisit", { visitId, caseId, occurredAt: new Date().toISOString() }, "visit { visitId }");
  const asked = { visitId, amount: { minor: "250000", currency: "INR" }, channels };
  const { paymentLink } = await app.mutate("requestPaymentLink", asked, "paymentLink { id }");
  return String(paymentLink.id);
}

/** What a link is now, as the app sees it. */
export async function linkNow(app: AppClient, id: string): Promise<{ status: string; url: string | null }> {
  const { data } = await app.ask("query ($id: ID!) { paymentLink(id: $id) { status url } }", { id });
  return data?.["paymentLink"] as { status: string; url: string | null };
}

/** An import row with nothing but what is required. */
export function aLoan(sourceLoanNumber: string, outstandingAmount: number): object {
  return { sourceLoanNumber, borrowerName: "Ravi Kumar", borrowerPhone: BORROWER_PHONE, outstandingAmount };
}

/** A port that is free now and that no outgoing connection takes meanwhile. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = FIRST_PORT + Math.floor(Math.random() * PORTS);
    const probe = createServer();
    const isFree = await new Promise<boolean>((resolve) => {
      probe.once("error", () => resolve(false)).listen(port, "127.0.0.1", () => resolve(true));
    });
    if (!isFree) continue;
    await new Promise((resolve) => probe.close(resolve));
    return port;
  }
}

/** A way to the database that can be cut. */
interface Wire {
  readonly url: string;
  cut(): void;
  mend(): void;
  /** Cuts it as soon as the next COMMIT has been done, before anybody hears of it. */
  loseNextCommit(): void;
}

/** A way to PostgreSQL that a test can break and mend, as a network does. */
export async function aWire(databaseUrl: string): Promise<Wire> {
  const { hostname, port } = new URL(databaseUrl);
  const sockets = new Set<Socket>();
  let isCut = false;
  let losesCommit = false;
  const relay = createServer((near) => {
    const far = connect(Number(port), hostname);
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on("error", () => {}).on("close", () => [near, far].forEach((end) => sockets.delete(end.destroy())));
    }
    if (isCut) return near.destroy();
    near.pipe(far).pipe(near);
    near.on("data", (sent) => {
      if (!losesCommit || !sent.includes("commit")) return;
      losesCommit = false;
      far.unpipe(near);
      far.on("data", (answer) => answer.includes("COMMIT") && cut());
    });
  });
  await new Promise<void>((resolve) => relay.listen(0, "127.0.0.1", resolve));
  const url = new URL(databaseUrl);
  url.port = String((relay.address() as AddressInfo).port);
  function cut(): void {
    isCut = true;
    for (const socket of sockets) socket.destroy();
  }
  afterFile(() => {
    cut();
    relay.close();
  });
  return { url: url.href, cut, mend: () => void (isCut = false), loseNextCommit: () => void (losesCommit = true) };
}

/** Where tests go through a pooler, a process is told the way past it too, as an operator would. */
export function withDirectUrl(settings: Settings): Settings {
  const { DATABASE_URL: url } = settings;
  if (url === undefined || directUrl(url) === url) return settings;
  return { DATABASE_DIRECT_URL: directUrl(url), ...settings };
}

/** Nothing of this process's environment reaches it but what finds programs. */
function run(args: string[], settings: Settings) {
  const env = { PATH: process.env["PATH"], ...withDirectUrl(settings) };
  const child = spawn(process.execPath, [...FLAGS, ...args], { env, stdio: ["ignore", "pipe", "pipe"] });
  const output = { stdout: "", stderr: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => (output.stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (output.stderr += text));
  afterFile(() => killed(child));
  return { child, output };
}

async function killed(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill("SIGKILL");
  await once(child, "close");
}

async function ending(child: ChildProcess): Promise<Ending> {
  const [code, signal] = (await once(child, "close")) as [number | null, NodeJS.Signals | null];
  return { code, signal };
}
