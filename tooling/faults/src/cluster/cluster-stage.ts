import { LenderClient, type LenderTwin, startLenderTwin } from "@collections/lender-twin";
import { join } from "node:path";
import { Pool } from "pg";
import { setTimeout as pause } from "node:timers/promises";
import { confirmPayments, isUnavailable } from "../traffic/confirm-traffic.ts";
import { copyBooks } from "./copy-books.ts";
import { Crew } from "../processes/crew.ts";
import { until } from "../deadline.ts";
import { requestLinks } from "../traffic/link-traffic.ts";
import type { LenderSide } from "../invariants/evidence.ts";
import type { Outcome } from "../fault.ts";
import { importLoans, importRow } from "../traffic/import-traffic.ts";
import { violationsIn } from "../invariants.ts";
import { Model } from "../traffic/model.ts";
import { MINT_AUTH } from "../stage/original.ts";
import { assignCases } from "../stage/assign-cases.ts";
import { OwnCluster } from "./own-cluster.ts";
import { type OnClose, openInFolder, STAGE_SETTINGS } from "../stage/open.ts";
import { type Random, seededRandom, seedOf } from "../traffic/seeded-random.ts";
import { operator, type Settings, startOperator } from "../processes/service-process.ts";
import { readVerification, seenBy } from "../invariants/settle.ts";
import type { Scene } from "../traffic/pace.ts";
import { ANSWERED_WITHIN_MS, TrafficEnd } from "../traffic/traffic-end.ts";
import { unsettled } from "../invariants/unsettled.ts";

/** A lender whose rows are on one node of the cluster. */
export interface ClusterLender {
  readonly code: string;
  readonly lenderId: string;
  /** The worker node that has the lender's rows: 1 or 2. */
  readonly node: number;
  readonly twin: LenderTwin;
  /**
   * What the lender's requests need: the service's URLs, the HTTP clients, and the record of all requests and answers.
   */
  readonly scene: Scene;
  /** How many of this lender's payments were answered, and how many of its calls were answered 503. */
  readonly counts: { answered: number; refused: number };
}

/**
 * Everything that a fault on a cluster needs: the processes of the service, a cluster of its own, and lenders on both
 * worker nodes.
 */
export interface ClusterStage {
  readonly random: Random;
  readonly cluster: OwnCluster;
  readonly model: Model;
  readonly servers: Crew;
  readonly workers: Crew;
  readonly lenders: readonly ClusterLender[];
  /** Starts the traffic of all lenders and of one field partner. Call `stop` of the result to end it. */
  startTraffic(options: ClusterTraffic): TrafficEnd;
  /**
   * Resolves when the service has answered this many more payments of every lender. Returns the time until every lender
   * had its first answer.
   */
  untilEveryLenderIsAnswered(payments: number): Promise<number>;
  /** Waits until no work is left, and checks the invariants. */
  checkInvariants(onProgress: (message: string) => void): Promise<Outcome>;
  close(): Promise<void>;
}

export interface ClusterTraffic {
  readonly clientsPerLender: number;
  /** The pause of a client between two payments. */
  readonly restMs: number;
}

const LENDERS = 8;
/**
 * The maximum number of lenders. A lender's id decides which node has its rows. So lenders are added until each worker
 * node has at least `LEAST_PER_NODE` of them.
 */
const MOST_LENDERS = 16;
const LEAST_PER_NODE = 2;
const LOANS = 20;
const DOORS = 12;
const PLACED = 10_000_000;
const LINK_REST_MS = 200;
const IMPORT_REST_MS = 1_000;
const RECOVERS_WITHIN_MS = 180_000;
const SETTLES_WITHIN_MS = 300_000;
const LOOK_EVERY_MS = 500;

/** Makes the cluster, distributes the tables, registers lenders, and starts two servers and a worker. */
export function openClusterStage(seed: number): Promise<ClusterStage> {
  return openInFolder((folder, onClose) => setUp(seed, folder, onClose));
}

async function setUp(seed: number, folder: string, onClose: OnClose): Promise<Omit<ClusterStage, "close">> {
  const cluster = await OwnCluster.start(folder);
  onClose(() => cluster.stop());
  const settings: Settings = { ...STAGE_SETTINGS, FAULTS_RUN: folder, DATABASE_URL: cluster.url };
  await operator(settings, "migrate", "--distribute");
  const servers = new Crew({ ...settings, ROLE: "server" }, { logFile: join(folder, "servers.log") });
  const workers = new Crew({ ...settings, ROLE: "worker" }, { logFile: join(folder, "workers.log") });
  onClose(() => Promise.all([servers.killAll(), workers.killAll()]));
  await Promise.all([servers.start([{}, {}]), workers.start([{}])]);

  const model = new Model();
  const person = await operator(settings, "field-partner", "create", "--name=Asha Rao", "--phone=+919820000001");
  const fieldPartnerId = String(person["fieldPartnerId"]);
  const { accessToken } = await operator(settings, "field-partner", "token", fieldPartnerId);
  const lenders: ClusterLender[] = [];
  const onNode = (node: number) => lenders.filter((lender) => lender.node === node).length;
  const isEnough = () => lenders.length >= LENDERS && Math.min(onNode(1), onNode(2)) >= LEAST_PER_NODE;
  while (!isEnough() && lenders.length < MOST_LENDERS) {
    const code = `LENDER${lenders.length + 1}`;
    lenders.push(
      await aLender(code, { seed, settings, cluster, servers, model, accessToken: String(accessToken), onClose }),
    );
  }
  if (!isEnough()) throw new Error(`A worker node has fewer than ${LEAST_PER_NODE} of the ${lenders.length} lenders.`);
  for (const { code } of lenders) {
    await assignCases(settings, code, [{ loans: doorsOf(code), holder: fieldPartnerId }]);
  }

  return {
    random: seededRandom(seed),
    cluster,
    model,
    servers,
    workers,
    lenders,
    startTraffic: (options) => startTraffic(seed, model, lenders, options),
    async untilEveryLenderIsAnswered(payments) {
      const startedAt = performance.now();
      const before = lenders.map(({ counts }) => counts.answered);
      const reach = (count: number) => () =>
        lenders.every(({ counts }, index) => counts.answered >= before[index]! + count);
      await until("a payment of every lender is answered again", RECOVERS_WITHIN_MS, reach(1));
      const firstMs = performance.now() - startedAt;
      await until(`${payments} more payments of every lender are answered`, RECOVERS_WITHIN_MS, reach(payments));
      return firstMs;
    },
    checkInvariants: (onProgress) =>
      checkInvariants({ settings, cluster, model, lenders, crews: [servers, workers] }, onProgress),
  };
}

async function aLender(
  code: string,
  of: Pick<ClusterStage, "cluster" | "servers" | "model"> & {
    seed: number;
    settings: Settings;
    accessToken: string;
    onClose: OnClose;
  },
): Promise<ClusterLender> {
  const twin = await startLenderTwin({ mintAuth: MINT_AUTH, timeoutMs: ANSWERED_WITHIN_MS });
  of.onClose(() => twin.close());
  const created = await operator(
    of.settings,
    "lender",
    "create",
    `--code=${code}`,
    `--name=${code}`,
    "--currency=INR",
    "--commission-percent=2.5",
    `--callback-url=${twin.callbackUrl}`,
    `--mint-link-url=${twin.mintUrl}`,
    `--mint-auth-header=${MINT_AUTH.name}: ${MINT_AUTH.value}`,
  );
  const { apiKeyId, hmacSecret } = created as { apiKeyId: string; hmacSecret: string };
  const connection = { serviceUrl: of.servers.urls[0]!, apiKeyId, hmacSecret };
  twin.connect(connection);
  const loans = Array.from({ length: LOANS }, (_, index) => `${code}/${index}`);
  const doors = Array.from({ length: DOORS }, (_, index) => `DOOR/${code}/${index}`);
  const imported = await twin.importCases(
    [...loans, ...doors].map((loan) => importRow(loan, PLACED)),
    { atomic: true },
  );
  if (imported.status !== 200) throw new Error(`The import of the loans of ${code} failed: ${imported.rawBody}`);
  const { rows } = await of.cluster.pool.query<{ id: string }>("select id from lenders.lender where code = $1", [code]);
  const lenderId = rows[0]!.id;
  const [node] = await of.cluster.nodesOf([lenderId]);
  const counts = { answered: 0, refused: 0 };
  const scene: Scene = {
    seed: seedOf(of.seed, code),
    model: of.model,
    loans,
    smallLoans: [],
    accessToken: of.accessToken,
    sendsMail: false,
    servers: of.servers,
    lender: twin,
    mayRefuse(answer) {
      if (!isUnavailable(answer)) return false;
      counts.refused += 1;
      return true;
    },
    client() {
      const client = new LenderClient(Date.now, ANSWERED_WITHIN_MS);
      client.connect(connection);
      return client;
    },
  };
  return { code, lenderId, node: node!, twin, scene, counts };
}

function doorsOf(code: string): string[] {
  return Array.from({ length: DOORS }, (_, index) => `DOOR/${code}/${index}`);
}

function startTraffic(
  seed: number,
  model: Model,
  lenders: readonly ClusterLender[],
  { clientsPerLender, restMs }: ClusterTraffic,
): TrafficEnd {
  const end = new TrafficEnd(model, 60_000);
  const pace = (who: string, everyMs: number, onAnswer?: () => void) => ({
    random: seededRandom(seedOf(seed, who)),
    isOver: end.isOver,
    isTooLate: end.isTooLate,
    rest: () => pause(everyMs),
    ...(onAnswer && { onAnswer }),
  });
  for (const { code, scene, counts } of lenders) {
    for (let client = 0; client < clientsPerLender; client += 1) {
      end.join(
        confirmPayments(
          scene,
          pace(`${code} ${client}`, restMs, () => void (counts.answered += 1)),
        ),
      );
    }
    end.join(importLoans(scene, pace(`import ${code}`, IMPORT_REST_MS)));
  }
  end.join(requestLinks(lenders[0]!.scene, pace("door", LINK_REST_MS)));
  return end;
}

async function checkInvariants(
  stage: Pick<ClusterStage, "cluster" | "model" | "lenders"> & { settings: Settings; crews: readonly Crew[] },
  onProgress: (message: string) => void,
): Promise<Outcome> {
  const { cluster, model, lenders, settings, crews } = stage;
  const deadline = performance.now() + SETTLES_WITHIN_MS;
  while ((await unsettled(cluster.pool)).length > 0 && performance.now() < deadline) await pause(LOOK_EVERY_MS);
  onProgress("no work is left; copying the database and checking the invariants");
  const lost = crews.reduce((sum, crew) => sum + crew.lost, 0);
  if (lost > 0) model.odd(`${lost} processes ended unexpectedly`);
  for (const what of await unsettled(cluster.pool)) model.odd(`still unfinished: ${what}`);
  for (const what of await preparedFor(cluster)) model.odd(what);
  const verification = readVerification(await startOperator(settings, "ledger", "verify", "--json").done);
  const url = await cluster.plainDatabase("judged");
  await copyBooks(cluster.pool, url);
  const rows = new Pool({ connectionString: url, max: 1 });
  try {
    const violations = await violationsIn({
      rows,
      model,
      lender: seenByAll(lenders),
      verification,
      reconciliation: null,
    });
    const booked = await rows.query<{ count: string }>("select count(*) from ledger.payment_booking");
    return {
      counts: model.counts,
      sent: model.payments.size,
      acknowledged: model.acknowledged,
      booked: Number(booked.rows[0]!.count),
      violations,
    };
  } finally {
    await rows.end();
  }
}

/**
 * Returns prepared transactions older than a minute. Citus should have ended them: on this cluster it looks for them
 * every five seconds.
 */
async function preparedFor({ pool }: OwnCluster): Promise<string[]> {
  const { rows } = await pool.query<{ what: string }>(
    `select format('node %s: %s', nodeid, result) as what from run_command_on_all_nodes($$
       select string_agg(format('%s is prepared since %s', gid, prepared), ', ') from pg_prepared_xacts
       where prepared < now() - interval '1 minute' $$)
     where result <> ''`,
  );
  return rows.map(({ what }) => what);
}

function seenByAll(lenders: readonly ClusterLender[]): LenderSide {
  const sides = lenders.map(({ twin }) => seenBy(twin));
  return {
    arrived: new Set(sides.flatMap(({ arrived }) => [...arrived])),
    madeLinks: new Set(sides.flatMap(({ madeLinks }) => [...madeLinks])),
    mintCalls: new Map(sides.flatMap(({ mintCalls }) => [...mintCalls])),
  };
}
