import { type FakeWhatsApp, type LenderTwin, type MailCatcher } from "@collections/lender-twin";
import type { ApprovedTemplates, CaughtMail, WhatsAppMessage } from "@collections/lender-twin";
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
  readonly databaseUrl: string;
  /** The settings of the service, as environment variables. */
  readonly settings: Readonly<Record<string, string>>;
  readonly environment: string;
  readonly twin: LenderTwin;
  readonly whatsapp: FakeWhatsApp;
  readonly mail: MailCatcher;
  /** Registers the callback of the lender with this code, so that its messages get statuses. */
  connectWhatsApp(lenderCode: string): Promise<void>;
  /** Starts one more lender, which is closed with the stage. */
  startLender(): Promise<LenderTwin>;
  /**
   * Runs an operator's command and returns its JSON. Each part is split at spaces into arguments. A part such as
   * `--name=Asha Rao`, with an option and its value, stays one argument.
   */
  operator<Answer>(...parts: string[]): Promise<Answer>;
  close(): Promise<void>;
}

/** The WhatsApp account of one lender. */
export const WHATSAPP_ACCOUNT = {
  whatsappPhoneNumberId: "106540352242922",
  whatsappToken: "EAAdemo",
  whatsappAppSecret: "0123456789abcdef0123456789abcdef",
  whatsappVerifyToken: "demo-verify-token",
};

/** The same account, as options of `lender create`. */
export const WHATSAPP_OPTIONS =
  `--whatsapp-phone-number-id ${WHATSAPP_ACCOUNT.whatsappPhoneNumberId} ` +
  `--whatsapp-token ${WHATSAPP_ACCOUNT.whatsappToken} ` +
  `--whatsapp-app-secret ${WHATSAPP_ACCOUNT.whatsappAppSecret} ` +
  `--whatsapp-verify-token ${WHATSAPP_ACCOUNT.whatsappVerifyToken}`;

const MAX_OUTPUT_BYTES = 16 * 1_024 * 1_024;
/** The number of lines of the service's log that are shown if the service ends before it is ready. */
const LAST_LINES = 20;

const run = promisify(execFile);

export interface StageOptions {
  /** An empty database, on one server or on a cluster; without it, the demo starts a PostgreSQL of its own. */
  readonly databaseUrl?: string | undefined;
  /** The port of the service on 127.0.0.1. Default 0: a free port. */
  readonly port?: number;
  /** Called with each line of the service's log. Without it, only errors are logged, to stderr. */
  readonly log?: (line: string) => void;
  /** The templates that WhatsApp has approved. Without it, WhatsApp accepts every template. */
  readonly templates?: ApprovedTemplates;
  /** Called with each message that a borrower receives by WhatsApp. */
  readonly onWhatsApp?: (message: WhatsAppMessage) => void;
  /** Called with each e-mail that a borrower receives. */
  readonly onMail?: (mail: CaughtMail) => void;
  /** Aborts the start and the operator's commands, and ends each process that the start has begun. */
  readonly signal?: AbortSignal;
}

/**
 * Starts a database, the service as a process, a lender, WhatsApp and a mail server. If the start fails, ends all that
 * it has started. Throws DemoDatabaseError.
 */
export async function setUp(options: StageOptions = {}): Promise<Stage> {
  const started = new AsyncDisposableStack();
  try {
    return await startAll(options, started);
  } catch (error) {
    await started.disposeAsync();
    throw error;
  }
}

async function startAll(options: StageOptions, started: AsyncDisposableStack): Promise<Stage> {
  const { log, databaseUrl, port = 0, templates, onWhatsApp, onMail, signal } = options;
  const {
    whatsappPhoneNumberId: phoneNumberId,
    whatsappToken: token,
    whatsappAppSecret: appSecret,
    whatsappVerifyToken: verifyToken,
  } = WHATSAPP_ACCOUNT;
  const database = await demoDatabase(databaseUrl);
  started.defer(() => database.release());
  signal?.throwIfAborted();
  const startLender = async () => started.adopt(await startLenderTwin(), (lender) => lender.close());
  const twin = await startLender();
  const whatsapp = started.adopt(
    await startFakeWhatsApp({
      token,
      phoneNumberId,
      ...(templates && { templates }),
      ...(onWhatsApp && { onMessage: onWhatsApp }),
    }),
    (server) => server.close(),
  );
  // Delay each delivery status, so that the demo's field partner sees every status.
  whatsapp.statusAfterMs = 200;
  const mail = started.adopt(await startMailCatcher(onMail && { onMail }), (server) => server.close());
  const settings = {
    ENVIRONMENT: "sandbox",
    DATABASE_URL: database.url,
    MASTER_KEY: "0123456789abcdef".repeat(4),
    PORT: String(port),
    LOG_LEVEL: log ? "info" : "error",
    OUTBOUND_ALLOW: "127.0.0.1:*",
    SMTP_URL: mail.smtpUrl,
    WHATSAPP_BASE_URL: whatsapp.url,
    // A slow machine needs longer than the seconds of the defaults.
    MINT_TIMEOUT: "5m",
    DATABASE_CONNECTION_TIMEOUT: "5m",
    DATABASE_ANSWER_TIMEOUT: "5m",
    SHUTDOWN_TIMEOUT: "5m",
  };
  const env = { PATH: process.env["PATH"], ...settings };
  const command = (argv: readonly string[]) =>
    run(process.execPath, [pathOf("../src/cli/main.ts"), ...argv, "--json"], {
      env,
      maxBuffer: MAX_OUTPUT_BYTES,
      ...(signal && { signal }),
    });
  // Distribute the tables before the service starts, because a process reads only at its start whether they are
  // distributed.
  if (database.hasCitus) await command(["migrate", "--distribute"]);
  const service = spawn(process.execPath, [pathOf("../src/main.ts")], {
    env,
    stdio: ["ignore", "pipe", log ? "pipe" : "inherit"],
  });
  started.defer(() => stopped(service));
  signal?.addEventListener("abort", () => service.kill("SIGTERM"));
  const lastLines: string[] = [];
  if (log) {
    createInterface({ input: service.stderr! }).on("line", (line) => {
      lastLines.push(line);
      if (lastLines.length > LAST_LINES) lastLines.shift();
      log(line);
    });
  }
  const serviceUrl = await readyUrl(service, lastLines);
  signal?.throwIfAborted();
  // Commands print URLs with the port of the service.
  env.PORT = new URL(serviceUrl).port;
  return {
    serviceUrl,
    databaseUrl: database.url,
    settings,
    environment: settings.ENVIRONMENT,
    twin,
    whatsapp,
    mail,
    startLender,
    connectWhatsApp: (lenderCode) =>
      whatsapp.registerCallback({ url: `${serviceUrl}/webhooks/whatsapp/${lenderCode}`, appSecret, verifyToken }),
    async operator<Answer>(...parts: string[]) {
      const { stdout } = await command(parts.flatMap((part) => (/^--[a-z-]+=/.test(part) ? [part] : part.split(" "))));
      return JSON.parse(stdout) as Answer;
    },
    close: () => started.disposeAsync(),
  };
}

/** Ends the service, unless it has ended by itself or by a signal from the terminal. */
async function stopped(service: ChildProcess): Promise<void> {
  if (service.exitCode !== null || service.signalCode !== null) return;
  service.kill("SIGTERM");
  await once(service, "exit");
}

function pathOf(relative: string): string {
  return fileURLToPath(new URL(relative, import.meta.url));
}

/** Returns the URL from the line that the service prints when it is ready. */
async function readyUrl(service: ChildProcess, lastLines: readonly string[]): Promise<string> {
  for await (const line of createInterface({ input: service.stdout! })) {
    const url = /is ready at (\S+)/.exec(line)?.[1];
    if (url !== undefined) {
      service.stdout!.resume();
      return url;
    }
  }
  throw new Error(["The service ended before it was ready. Its last lines:", ...lastLines].join("\n"));
}
