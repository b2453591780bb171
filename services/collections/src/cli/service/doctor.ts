import { collectionsLedger, rebookedWithoutFieldPartner, reconciledWindows } from "@collections/bookings";
import { clusterHealth, distribute, failedJobs, NotDistributableError, publicId } from "@collections/database";
import { owedSums, takenBackSums } from "@collections/earnings";
import { onOneLine } from "@collections/flows";
import { listLenders, unreadableSecrets } from "@collections/lenders";
import { ownMintFaults } from "@collections/payment-links";
import { checkWebhooks, type TenantWebhooks } from "@collections/webhooks";
import { Command } from "commander";
import { counted } from "../terminal/counted.ts";
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
import { machineTimeZone, momentText } from "../terminal/local-time.ts";
import { schemas } from "../../schemas.ts";
import { EXIT } from "../terminal/refusal.ts";
import { endProgress, showProgress } from "../terminal/terminal.ts";
import { answer, lenderNamed, type Operator, table, withDatabase } from "../terminal/with-database.ts";

/** How long field partners may owe a lender money before doctor reports it. */
const OWED_FOR_MS = 30 * 86_400_000;
/** How long doctor reports a payment that was reversed and booked again without a field partner. */
const REBOOKED_FOR_MS = 30 * 86_400_000;
/** For how long after a window doctor reports the differences that its latest reconciliation has found. */
const DIFFERS_FOR_MS = 7 * 86_400_000;

/** `doctor`: finds problems with events, workers, secrets, deductions, reconciliations, anchors and the nodes of a cluster. */
export function doctorCommand(): Command {
  return new Command("doctor")
    .option("--lender <code>", "check only this lender")
    .description(
      "Find problems with events, workers, secrets, deductions, reconciliations and anchors, and say what to do about each.",
    )
    .addHelpText(
      "after",
      `
A fault is a problem that the operator has to solve. A warning is a problem of a lender, such as a suspended callback.
The command only reads.
Exits with 1 when there is a fault, with 0 when there are only warnings.

Example:
  pnpm collections doctor --json`,
    )
    .action(({ lender }: { lender?: string }) => withDatabase((operator) => check(operator, lender)));
}

async function check(operator: Operator, code: string | undefined): Promise<void> {
  const { em, config, vault } = operator;
  const health = await clusterHealth(em());
  const ofCluster = health ? problemsOfCluster(health) : [];
  // Stop here while a node does not answer: all further checks read the rows of all lenders, so they would fail.
  if (health && health.away.length > 0) return answerFound(ofCluster, { at: new Date(), lenders: [] }, NOT_CHECKED);
  const one = code === undefined ? undefined : await lenderNamed(em(), code);
  const codes = new Map((one ? [one] : await listLenders(em())).map(({ id, code }) => [id, code]));
  const report = await checkWebhooks(em(), {
    tenantId: one?.id,
    streamNoun: "loan",
    onProgress: ({ tenantId: lenderId, done, of }) => {
      showProgress(`lender ${done + 1} of ${of}: ${codes.get(lenderId)}`);
    },
  });
  endProgress();
  const jobs = one ? [] : await failedJobs(em());
  const anchors = await collectionsLedger.anchorState(em(), [...codes.keys()]);
  const ofMint: DoctorProblem[] = [];
  const ofMoney: DoctorProblem[] = [];
  for (const [lenderId, lenderCode] of codes) {
    const mintFaults = await ownMintFaults(em(), lenderId, report.at);
    if (mintFaults) ofMint.push(problemOfMint(mintFaults, lenderCode));
    ofMoney.push(...(await problemsOfMoney(operator, { lenderId, lenderCode }, report.at)));
  }
  const unreadable = await unreadableSecrets(em(), vault, one?.id);
  const found = [
    ...ofCluster,
    ...problemsOfTables(health ? await misplacedTables(operator) : []),
    ...unreadable.map((secret) => problemOfSecret(secret, codes)),
    ...report.problems.map((problem) => problemOfWebhooks(problem, codes)),
    ...ofMint,
    ...jobs.map(problemOfJobs),
    ...ofMoney,
    ...problemsOfAnchors(anchors, config, report.at),
  ];
  const lenders = report.tenants.map((lender) => shownLender(lender, codes.get(lender.tenantId) ?? lender.tenantId));
  answerFound(found, { at: report.at, lenders });
}

/** Returns the warnings about a lender's money: commissions that reversals have changed, and open differences. */
async function problemsOfMoney(
  { em }: Operator,
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

const NOT_CHECKED = "Nothing else was checked: run doctor again when all nodes answer.";

/** Prints the problems. The exit code is 1 if there is a fault. */
function answerFound(
  found: readonly DoctorProblem[],
  { at, lenders }: { at: Date; lenders: readonly ShownLender[] },
  note?: string,
): void {
  const faults = found.filter(({ severity }) => severity === "fault");
  const warnings = found.filter(({ severity }) => severity === "warning");
  const problems = [...faults, ...warnings];
  const verdict = `${counted(faults.length, "fault")}, ${counted(warnings.length, "warning")}.`;
  answer(
    { ok: faults.length === 0, at, faults: faults.length, warnings: warnings.length, problems, lenders },
    [
      ...(lenders.length === 0 ? [] : [table([HEADER, ...lenders.map(cells)]), ""]),
      ...problems.flatMap(lines),
      note === undefined ? verdict : `${verdict} ${note}`,
    ].join("\n"),
  );
  if (faults.length > 0) process.exitCode = EXIT.refused;
}

/** Returns the statements that `migrate --distribute` would send, or the reasons why it refuses to distribute. */
async function misplacedTables({ config }: Operator): Promise<readonly string[]> {
  const { databaseUrl, databaseMigrationUrl: url = databaseUrl } = config;
  if (url === undefined) return [];
  try {
    const { statements } = await distribute({
      url,
      schemas,
      dryRun: true,
      ...(databaseUrl && { runtimeUrl: databaseUrl }),
    });
    return statements.map((text) => `missing: ${text}`);
  } catch (error) {
    if (error instanceof NotDistributableError) return error.faults;
    throw error;
  }
}

const HEADER = ["LENDER", "ENDPOINT", "PUBLISHED", "DELIVERED", "WAITING", "RETRYING", "PARKED", "OLDEST WAITING"];

type ShownLender = ReturnType<typeof shownLender>;

function shownLender(webhooks: TenantWebhooks, lenderCode: string) {
  const { url, state, suspendedAt, published, delivered, waiting, retrying, parked } = webhooks;
  const { oldestUndelivered: oldest } = webhooks;
  const oldestWaiting = oldest && {
    eventId: publicId("evt", oldest.eventId),
    sourceLoanNumber: oldest.stream,
    sequence: Number(oldest.sequence),
    createdAt: oldest.createdAt,
  };
  return { lenderCode, url, state, suspendedAt, published, delivered, waiting, retrying, parked, oldestWaiting };
}

function cells({
  lenderCode,
  url,
  state,
  published,
  delivered,
  waiting,
  retrying,
  parked,
  oldestWaiting,
}: ShownLender) {
  return [
    lenderCode,
    url === null ? "no callback" : state,
    ...[published, delivered, waiting, retrying, parked].map(String),
    oldestWaiting ? momentText(oldestWaiting.createdAt, machineTimeZone()) : "-",
  ];
}

function lines({ severity, code, lenderCode, detail, remedy }: DoctorProblem): string[] {
  const what = `${severity} ${code}${lenderCode === null ? "" : ` ${lenderCode}`}`;
  return [what, `  ${onOneLine(detail)}`, `  ${remedy}`, ""];
}
