import { type Answer, LenderClient, type LenderTwin, startLenderTwin } from "@collections/lender-twin";
import { join } from "node:path";
import { isUnavailable } from "../traffic/confirm-traffic.ts";
import { Crew } from "../processes/crew.ts";
import type { LyingFront } from "../processes/lying-front.ts";
import { Model } from "../traffic/model.ts";
import { copyCluster, MINT_AUTH, originalBooks } from "./original.ts";
import { OwnPooler } from "../processes/own-pooler.ts";
import { OwnPostgres } from "../processes/own-postgres.ts";
import { Relay } from "../processes/relay.ts";
import { type OnClose, openInFolder, STAGE_SETTINGS } from "./open.ts";
import { type Random, seededRandom } from "../traffic/seeded-random.ts";
import { ANSWERED_WITHIN_MS } from "../traffic/traffic-end.ts";
import type { Settings } from "../processes/service-process.ts";

/** The options of a fault for the processes that are started for it. */
export interface StageOptions {
  readonly settings?: Settings;
  /**
   * One entry for each server process to start: the additional settings of that process. By default there is one server
   * process without additional settings.
   */
  readonly servers?: readonly Settings[];
  readonly workers?: readonly Settings[];
  readonly postgres?: Readonly<Record<string, string>>;
  readonly postgresEnvironment?: Readonly<Record<string, string>>;
  /** The folder of the database; by default inside the stage's folder. */
  readonly dataDir?: string;
  /** Connects the service to PostgreSQL only through a relay, so that a fault can redirect it to another server. */
  readonly throughRelay?: boolean;
  /** Connects the service to PostgreSQL, or to the relay, through a pgbouncer. */
  readonly usesPooler?: boolean;
  /** Starts a proxy in front of the lender twin. The service then sends its calls for the lender to this proxy. */
  readonly front?: (twinUrl: string) => Promise<LyingFront>;
  /** The URL of the mail server. Without a mail server, no link is sent by e-mail. */
  readonly smtpUrl?: string;
  /** Whether an answer other than a 503 is allowed during the fault. */
  readonly mayRefuse?: (answer: Answer) => boolean;
}

/**
 * Everything that a fault needs: the processes of the service, PostgreSQL, a simulated lender, and the record of all
 * requests and answers.
 */
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
  readonly pooler: OwnPooler | undefined;
  readonly front: LyingFront | undefined;
  /** Loans that receive payments without a link. */
  readonly loans: readonly string[];
  /** Loans that a payment without a link mostly clears. */
  readonly smallLoans: readonly string[];
  readonly accessToken: string;
  readonly sendsMail: boolean;
  readonly mayRefuse: (answer: Answer) => boolean;
  /** The server with the database. After a failover this is the former standby. */
  postgres: OwnPostgres;
  /** Returns a client that acts as one of the lender's servers and has its own connections. */
  client(): LenderClient;
  close(): Promise<void>;
}

/** Starts PostgreSQL on a copy of the prepared data folder, and then the service and the simulated lender. */
export function openStage(seed: number, options: StageOptions): Promise<Stage> {
  return openInFolder((folder, onClose) => setUp(seed, folder, options, onClose));
}

async function setUp(
  seed: number,
  folder: string,
  options: StageOptions,
  onClose: OnClose,
): Promise<Omit<Stage, "close">> {
  const original = await originalBooks(STAGE_SETTINGS);
  const dataDir = options.dataDir ?? join(folder, "data");
  await copyCluster(original.dataDir, dataDir);
  const postgres = await OwnPostgres.start({
    dataDir,
    settings: { max_connections: "100", ...options.postgres },
    ...(options.postgresEnvironment && { environment: options.postgresEnvironment }),
  });
  onClose(() => postgres.stop());
  const relay = options.throughRelay === true ? await Relay.open(postgres.url) : undefined;
  onClose(() => relay?.close());
  const directUrl = relay?.url ?? postgres.url;
  const pooler = options.usesPooler === true ? await OwnPooler.start(directUrl) : undefined;
  onClose(() => pooler?.kill());

  const settings: Settings = {
    ...STAGE_SETTINGS,
    FAULTS_RUN: folder,
    DATABASE_URL: pooler?.url ?? directUrl,
    DATABASE_DIRECT_URL: directUrl,
    ...(options.smtpUrl !== undefined && { SMTP_URL: options.smtpUrl }),
    ...options.settings,
  };
  const servers = new Crew({ ...settings, ROLE: "server" }, { logFile: join(folder, "servers.log") });
  const workers = new Crew({ ...settings, ROLE: "worker" }, { logFile: join(folder, "workers.log") });
  onClose(() => Promise.all([servers.killAll(), workers.killAll()]));

  const twin = await startLenderTwin({ mintAuth: MINT_AUTH, timeoutMs: ANSWERED_WITHIN_MS });
  onClose(() => twin.close());
  const front = await options.front?.(twin.url);
  onClose(() => front?.close());
  await setLenderUrls(postgres, twin, front?.url ?? twin.url);
  await Promise.all([servers.start(options.servers ?? [{}]), workers.start(options.workers ?? [{}])]);
  const connection = { serviceUrl: servers.urls[0]!, ...original.lender };
  twin.connect(connection);

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
    pooler,
    front,
    loans: original.loans,
    smallLoans: original.smallLoans,
    accessToken: original.accessToken,
    sendsMail: options.smtpUrl !== undefined,
    mayRefuse: (answer) => isUnavailable(answer) || options.mayRefuse?.(answer) === true,
    postgres,
    client() {
      const client = new LenderClient(Date.now, ANSWERED_WITHIN_MS);
      client.connect(connection);
      return client;
    },
  };
}

/** Sets the lender's addresses before any process reads them. */
async function setLenderUrls({ pool }: OwnPostgres, twin: LenderTwin, seenAt: string): Promise<void> {
  const at = (url: string) => url.replace(twin.url, seenAt);
  await pool.query("update lenders.lender set mint_link_url = $1", [at(twin.mintUrl)]);
  await pool.query("update webhooks.endpoint set url = $1", [at(twin.callbackUrl)]);
}
