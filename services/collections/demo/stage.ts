import { type FakeWhatsApp, type LenderTwin, type MailCatcher } from "@collections/lender-twin";
import { startFakeWhatsApp, startLenderTwin, startMailCatcher } from "@collections/lender-twin";
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { demoDatabase } from "./demo-database.ts";

/** The parts of the demo, with real sockets and real processes. */
export interface Stage {
  readonly serviceUrl: string;
  readonly twin: LenderTwin;
  readonly whatsapp: FakeWhatsApp;
  readonly mail: MailCatcher;
  readonly whatsappToken: string;
  readonly whatsappNumberId: string;
  /**
   * Runs an operator's command and returns its JSON. Each part is split at spaces, except a part such as `--name=Asha
   * Rao`, which is one argument.
   */
  operator<Answer>(...parts: string[]): Promise<Answer>;
  close(): Promise<void>;
}

const WHATSAPP_TOKEN = "EAAdemo";
const WHATSAPP_NUMBER_ID = "106540352242922";
const MAX_OUTPUT_BYTES = 16 * 1_024 * 1_024;

const run = promisify(execFile);

export interface StageOptions {
  /** An empty database, on one server or on a cluster; without it, the demo starts a PostgreSQL of its own. */
  readonly databaseUrl?: string | undefined;
  /** Called with each line of the service's log. Without it, only errors are logged, to stderr. */
  readonly log?: (line: string) => void;
}

/** Starts a database, the service as a process, a lender, WhatsApp and a mail server. Throws DemoDatabaseError. */
export async function setUp({ log, databaseUrl }: StageOptions = {}): Promise<Stage> {
  const database = await demoDatabase(databaseUrl);
  const twin = await startLenderTwin();
  const whatsapp = await startFakeWhatsApp({ token: WHATSAPP_TOKEN, phoneNumberId: WHATSAPP_NUMBER_ID });
  // Delay each delivery status, so that the demo's field partner sees every status.
  whatsapp.statusAfterMs = 200;
  const mail = await startMailCatcher();
  const env = {
    PATH: process.env["PATH"],
    DATABASE_URL: database.url,
    MASTER_KEY: "0123456789abcdef".repeat(4),
    PORT: "0",
    LOG_LEVEL: log ? "info" : "error",
    OUTBOUND_ALLOW: "127.0.0.1:*",
    SMTP_URL: mail.smtpUrl,
    WHATSAPP_BASE_URL: whatsapp.url,
  };
  const command = (argv: readonly string[]) =>
    run(process.execPath, [pathOf("../src/cli/main.ts"), ...argv, "--json"], { env, maxBuffer: MAX_OUTPUT_BYTES });
  // Distribute the tables before the service starts, because a process reads only at its start whether they are
  // distributed.
  if (database.hasCitus) await command(["migrate", "--distribute"]);
  const service = spawn(process.execPath, [pathOf("../src/main.ts")], {
    env,
    stdio: ["ignore", "pipe", log ? "pipe" : "inherit"],
  });
  if (log) createInterface({ input: service.stderr! }).on("line", log);
  return {
    serviceUrl: await readyUrl(service),
    twin,
    whatsapp,
    mail,
    whatsappToken: WHATSAPP_TOKEN,
    whatsappNumberId: WHATSAPP_NUMBER_ID,
    async operator<Answer>(...parts: string[]) {
      const { stdout } = await command(parts.flatMap((part) => (/^--[a-z-]+=/.test(part) ? [part] : part.split(" "))));
      return JSON.parse(stdout) as Answer;
    },
    async close() {
      if (service.exitCode === null && service.signalCode === null) {
        service.kill("SIGTERM");
        await once(service, "exit");
      }
      await Promise.all([twin.close(), whatsapp.close(), mail.close()]);
      await database.release();
    },
  };
}

function pathOf(relative: string): string {
  return fileURLToPath(new URL(relative, import.meta.url));
}

/** Returns the URL from the line that the service prints when it is ready. */
async function readyUrl(service: ChildProcess): Promise<string> {
  for await (const line of createInterface({ input: service.stdout! })) {
    const url = /is ready at (\S+)/.exec(line)?.[1];
    if (url !== undefined) {
      service.stdout!.resume();
      return url;
    }
  }
  throw new Error("The service ended before it was ready.");
}
