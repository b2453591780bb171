import { type Answer, LenderClient, type LenderTwin, startLenderTwin } from "@collections/lender-twin";
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { isNotNow } from "./confirm-traffic.ts";
import { Crew } from "./crew.ts";
import { importRow } from "./import-traffic.ts";
import type { LyingFront } from "./lying-front.ts";
import { Model } from "./model.ts";
import { OwnPostgres } from "./own-postgres.ts";
import { Relay } from "./relay.ts";
import { type Random, seededRandom } from "./seeded-random.ts";
import { operator, type Settings } from "./service-process.ts";

/** What a fault may want otherwise. */
export interface StageOptions {
  readonly settings?: Settings;
  /** One process for each, with settings of its own; one of either unless told. */
  readonly servers?: readonly Settings[];
  readonly workers?: readonly Settings[];
  readonly postgres?: Readonly<Record<string, string>>;
  readonly postgresEnvironment?: Readonly<Record<string, string>>;
  /** The folder of the database; in the run's own folder unless told. */
  readonly dataDir?: string;
  /** Lets the service reach PostgreSQL by a relay only, which can be led elsewhere. */
  readonly throughRelay?: boolean;
  /** Where the lender seems to be: an address of a process before the twin. */
  readonly front?: (twinUrl: string) => Promise<LyingFront>;
  /** The mail server; without it links are shown only. */
  readonly smtpUrl?: string;
  /** What else than a 503 is a fair answer while the fault lasts. */
  readonly mayRefuse?: (answer: Answer) => boolean;
}

/** The service, everything around it, and what the world outside knows. */
export interface Stage {
  readonly seed: number;
  readonly random: Random;
  readonly folder: string;
  readonly model: Model;
  readonly servers: Crew;
  readonly workers: Crew;
  readonly lender: LenderTwin;
  readonly settings: Settings;
  readonly relay: Relay | undefined;
  readonly front: LyingFront | undefined;
  /** Loans that payments without a link go to. */
  readonly loans: readonly string[];
  readonly accessToken: string;
  readonly sendsMail: boolean;
  readonly mayRefuse: (answer: Answer) => boolean;
  /** Changes when a standby takes over. */
  postgres: OwnPostgres;
  /** One of the lender's own servers, with connections of its own. */
  client(): LenderClient;
  close(): Promise<void>;
}

export const LENDER = "ACME";
const LOANS = 40;
const DOORS = 6;
const PLACED = 200_000;
const DATA_DIR = fileURLToPath(new URL("../../../.data", import.meta.url));

const SETTINGS: Settings = {
  MASTER_KEY: "0123456789abcdef".repeat(4),
  OUTBOUND_ALLOW: "127.0.0.1:*",
  RATE_LIMITS: "off",
  LOG_LEVEL: "warn",
  WEBHOOK_TIMEOUT: "2s",
  WEBHOOK_LADDER: "0s,300ms,600ms,1s,1s,2s",
  WEBHOOK_PROBE_INTERVAL: "500ms",
  MINT_TIMEOUT: "2s",
};

/** A folder of the run's own on the disk of the checkout: in memory a commit would cost nothing. */
export function ownFolder(): string {
  mkdirSync(DATA_DIR, { recursive: true });
  const folder = mkdtempSync(join(DATA_DIR, "faults-"));
  chmodSync(folder, 0o755);
  return folder;
}

/** Starts all of it with one lender, whose loans are imported, and one field partner, who holds some of them. */
export async function openStage(seed: number, options: StageOptions): Promise<Stage> {
  const folder = ownFolder();
  const closings: (() => unknown)[] = [() => rmSync(folder, { recursive: true, force: true })];
  const close = async (): Promise<void> => {
    for (const closing of closings.splice(0).reverse()) await closing();
  };
  try {
    const stage = await setUp(seed, folder, options, (closing) => closings.push(closing));
    return { ...stage, close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function setUp(
  seed: number,
  folder: string,
  options: StageOptions,
  onClose: (closing: () => unknown) => void,
): Promise<Omit<Stage, "close">> {
  const postgres = await OwnPostgres.start({
    dataDir: options.dataDir ?? join(folder, "data"),
    settings: { max_connections: "100", ...options.postgres },
    ...(options.postgresEnvironment && { environment: options.postgresEnvironment }),
  });
  onClose(() => postgres.stop());
  const relay = options.throughRelay === true ? await Relay.open(postgres.url) : undefined;
  onClose(() => relay?.close());

  const settings: Settings = {
    ...SETTINGS,
    DATABASE_URL: relay?.url ?? postgres.url,
    ...(options.smtpUrl !== undefined && { SMTP_URL: options.smtpUrl }),
    ...options.settings,
  };
  const servers = new Crew({ ...settings, ROLE: "server" }, join(folder, "servers.log"));
  const workers = new Crew({ ...settings, ROLE: "worker" }, join(folder, "workers.log"));
  onClose(() => Promise.all([servers.killAll(), workers.killAll()]));
  await servers.start(options.servers ?? [{}]);

  const twin = await startLenderTwin({ serviceUrl: servers.urls[0]! });
  onClose(() => twin.close());
  const front = await options.front?.(twin.url);
  onClose(() => front?.close());
  const [connection, person] = await Promise.all([
    registerLender(settings, twin, front?.url ?? twin.url),
    registerFieldPartner(settings),
    workers.start(options.workers ?? [{}]),
  ]);
  twin.connect(connection);
  const loans = await fillBooks(settings, postgres, twin, person.id);

  return {
    seed,
    random: seededRandom(seed),
    folder,
    model: new Model(),
    servers,
    workers,
    lender: twin,
    settings,
    relay,
    front,
    loans,
    accessToken: person.accessToken,
    sendsMail: options.smtpUrl !== undefined,
    mayRefuse: (answer) => isNotNow(answer) || options.mayRefuse?.(answer) === true,
    postgres,
    client() {
      const client = new LenderClient();
      client.connect(connection);
      return client;
    },
  };
}

async function registerLender(settings: Settings, twin: LenderTwin, seenAt: string) {
  const at = (url: string) => url.replace(twin.url, seenAt);
  const { apiKeyId, hmacSecret } = await operator(
    settings,
    "lender",
    "create",
    `--code=${LENDER}`,
    "--name=Acme Finance",
    "--currency=INR",
    "--commission-percent=2.5",
    `--callback-url=${at(twin.callbackUrl)}`,
    `--mint-link-url=${at(twin.mintUrl)}`,
    `--mint-auth-header=${twin.mintAuth.name}: ${twin.mintAuth.value}`,
  );
  return { apiKeyId: String(apiKeyId), hmacSecret: String(hmacSecret) };
}

async function registerFieldPartner(settings: Settings): Promise<{ id: string; accessToken: string }> {
  const person = await operator(settings, "field-partner", "create", "--name=Asha Rao", "--phone=+919820000001");
  const id = String(person["fieldPartnerId"]);
  const { accessToken } = await operator(settings, "field-partner", "token", id);
  return { id, accessToken: String(accessToken) };
}

/** Operators assign one case at a time, so only the first goes their way; the others are given by SQL. */
async function fillBooks(
  settings: Settings,
  postgres: OwnPostgres,
  twin: LenderTwin,
  fieldPartnerId: string,
): Promise<string[]> {
  const loans = Array.from({ length: LOANS }, (_, index) => `LN/${index}`);
  const doors = Array.from({ length: DOORS }, (_, index) => `DOOR/${index}`);
  const rows = [...loans, ...doors].map((loan) => importRow(loan, PLACED));
  const { status, rawBody } = await twin.importCases(rows, { atomic: true });
  if (status !== 200) throw new Error(`The loans were not imported: ${rawBody}`);
  await operator(settings, "case", "assign", LENDER, doors[0]!, fieldPartnerId);
  await postgres.pool.query(
    `update cases.collection_case set status = 'assigned',
       assigned_field_partner_id = (select id from field_partners.field_partner)
     where source_loan_number like 'DOOR/%' and assigned_field_partner_id is null`,
  );
  return loans;
}
