import { collectionsLedger, rebookedWithoutFieldPartner, reconciledWindows } from "@collections/bookings";
import { clusterHealth, distribute, failedJobs, NotDistributableError } from "@collections/database";
import type { EntityManager } from "@collections/entities";
import { owedSums, takenBackSums } from "@collections/earnings";
import { type Lender, listLenders, unreadableSecrets, type Vault } from "@collections/lenders";
import { ownMintFaults } from "@collections/payment-links";
import { checkWebhooks, type TenantWebhooks } from "@collections/webhooks";
import { jobsSchema, schemas } from "../schemas.ts";
import type { Config } from "../settings/config.ts";
import {
  type DoctorProblem,
  problemOfJobs,
  problemOfMint,
  problemOfOwed,
  problemOfRebooked,
  problemOfReconciliations,
  problemOfSecret,
  problemOfTakenBack,
  problemOfWebhooks,
  problemsOfAnchors,
  problemsOfCluster,
  problemsOfTables,
} from "./doctor-words.ts";

/** How long field partners may owe a lender money before doctor reports it. */
const OWED_FOR_MS = 30 * 86_400_000;
/** How long doctor reports a payment that was reversed and booked again without a field partner. */
const REBOOKED_FOR_MS = 30 * 86_400_000;
/** For how long after a window doctor reports the differences that its latest reconciliation has found. */
const DIFFERS_FOR_MS = 7 * 86_400_000;

/** The parts of the service that doctor examines. */
export interface Examined {
  readonly em: () => EntityManager;
  readonly config: Config;
  readonly vault: Vault;
}

/** The problems that doctor found. */
export interface DoctorReport {
  readonly at: Date;
  readonly problems: readonly DoctorProblem[];
  /** The events of each lender. */
  readonly tenants: readonly TenantWebhooks[];
  /** The codes of the lenders, by id. */
  readonly codes: ReadonlyMap<string, string>;
  /** The time zones of the lenders, by code. */
  readonly timeZones: ReadonlyMap<string, string>;
  /** False if a node of the cluster does not answer. Only the nodes were checked then. */
  readonly isComplete: boolean;
}

/**
 * Finds problems with events, workers, secrets, money, anchors and the nodes of a cluster, of one lender or of all. Makes
 * several queries for each lender.
 */
export async function doctorReport(
  examined: Examined,
  one: Lender | undefined,
  onProgress: (lender: { readonly code: string | undefined; readonly done: number; readonly of: number }) => void,
): Promise<DoctorReport> {
  const { em, config, vault } = examined;
  const health = await clusterHealth(em());
  const ofCluster = health ? problemsOfCluster(health) : [];
  // Stop here while a node does not answer: all further checks read the rows of all lenders, so they would fail.
  if (health && health.away.length > 0) {
    const none = { tenants: [], codes: new Map(), timeZones: new Map() };
    return { at: new Date(), problems: ofCluster, ...none, isComplete: false };
  }
  const lenders = one ? [one] : await listLenders(em());
  const codes = new Map(lenders.map(({ id, code }) => [id, code]));
  const timeZones = new Map(lenders.map(({ code, timeZone }) => [code, timeZone]));
  const report = await checkWebhooks(em(), {
    tenantId: one?.id,
    streamNoun: "loan",
    onProgress: ({ tenantId, done, of }) => onProgress({ code: codes.get(tenantId), done, of }),
  });
  const jobs = one ? [] : await failedJobs(em());
  const anchors = await collectionsLedger.anchorState(em(), [...codes.keys()]);
  const ofMint: DoctorProblem[] = [];
  const ofMoney: DoctorProblem[] = [];
  for (const [lenderId, lenderCode] of codes) {
    const mintFaults = await ownMintFaults(em(), lenderId, report.at);
    if (mintFaults) ofMint.push(problemOfMint(mintFaults, lenderCode));
    ofMoney.push(...(await problemsOfMoney(examined, { lenderId, lenderCode }, report.at)));
  }
  const unreadable = await unreadableSecrets(em(), vault, one?.id);
  const problems = [
    ...ofCluster,
    ...problemsOfTables(health ? await misplacedTables(examined) : []),
    ...unreadable.map((secret) => problemOfSecret(secret, codes)),
    ...report.problems.map((problem) => problemOfWebhooks(problem, codes)),
    ...ofMint,
    ...jobs.map(problemOfJobs),
    ...ofMoney,
    ...problemsOfAnchors(anchors, config, report.at),
  ];
  return { at: report.at, problems, tenants: report.tenants, codes, timeZones, isComplete: true };
}

/** Returns the warnings about a lender's money: commissions that reversals have changed, and open differences. */
async function problemsOfMoney(
  { em }: Examined,
  { lenderId, lenderCode }: { readonly lenderId: string; readonly lenderCode: string },
  now: Date,
): Promise<DoctorProblem[]> {
  const [owedBefore, rebookedSince] = [OWED_FOR_MS, REBOOKED_FOR_MS].map((ms) => new Date(now.getTime() - ms));
  const owed = await owedSums(em(), lenderId, owedBefore!);
  const takenBack = await takenBackSums(em(), lenderId);
  const rebooked = await rebookedWithoutFieldPartner(em(), lenderId, rebookedSince!);
  const latest = await reconciledWindows(em(), lenderId, { from: new Date(now.getTime() - DIFFERS_FOR_MS), to: now });
  const differing = latest.filter(({ differences }) => differences > 0);
  return [
    ...(differing.length === 0 ? [] : [problemOfReconciliations(differing, lenderCode)]),
    ...owed.map((sum) => problemOfOwed(sum, lenderCode)),
    ...takenBack.map((sum) => problemOfTakenBack(sum, lenderCode)),
    ...rebooked.map((sum) => problemOfRebooked(sum, lenderCode)),
  ];
}

/** Returns the statements that `migrate --distribute` would send, or the reasons why it refuses to distribute. */
async function misplacedTables({ config }: Examined): Promise<readonly string[]> {
  const { databaseUrl, databaseMigrationUrl: url = databaseUrl } = config;
  if (url === undefined) return [];
  try {
    const { statements } = await distribute({
      url,
      schemas,
      jobsSchema,
      dryRun: true,
      ...(databaseUrl && { runtimeUrl: databaseUrl }),
    });
    return statements.map((text) => `missing: ${text}`);
  } catch (error) {
    if (error instanceof NotDistributableError) return error.faults;
    throw error;
  }
}
