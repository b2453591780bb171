import { UsageError, type Wish } from "../arguments.ts";
import { givenConfirmationText, measureGivenConfirmations } from "./given-confirmations.ts";
import { type GivenServer, openGivenServer } from "../server/given-server.ts";
import { givenWebhookText, measureGivenWebhooks } from "./given-webhooks.ts";
import { FULL_PLAN, type Plan, QUICK_PLAN } from "../plan.ts";

type Tell = (message: string) => void;

/** What is measured on a given server: the report as data, and as tables for people. */
type Measure = (servers: readonly GivenServer[], plan: Plan, tell: Tell) => Promise<{ report: unknown; text: string }>;

const MEASURES: Readonly<Record<string, Measure>> = {
  async confirmations(servers, { confirmations: plan }, tell) {
    const report = await measureGivenConfirmations(servers, plan, tell);
    return { report, text: givenConfirmationText(servers, plan, report) };
  },
  async webhooks(servers, { webhooks: plan }, tell) {
    const report = await measureGivenWebhooks(servers, plan, tell);
    return { report, text: givenWebhookText(servers, plan, report) };
  },
};

const SIGNALS = ["SIGINT", "SIGTERM"] as const;

const LEFT_OUT = [
  "The bare statement, the plain handler and pg-boss: they need a PostgreSQL 18 of the benchmark's own and copies of a database.",
  "Times from a commit to its receipt, and leases in tables that have grown: they need settings and files of the server.",
];

/**
 * Measures on the server of `DATABASE_URL`, and in turn with it on that of `--beside`, in databases that are made and
 * dropped there. Returns what to print.
 * @throws UsageError
 */
export async function playGiven(wish: Wish, urls: readonly string[], tell: Tell): Promise<string> {
  const other = wish.subjects.find(({ name }) => MEASURES[name] === undefined);
  if (other !== undefined || wish.showsOnly || wish.resume) {
    throw new UsageError(
      `With DATABASE_URL, name what is measured there: ${Object.keys(MEASURES).join(", ")}; without --table and --resume.`,
    );
  }
  const plan = wish.isQuick ? QUICK_PLAN : FULL_PLAN;
  const servers: GivenServer[] = [];
  const reports: Record<string, unknown> = {};
  const texts: string[] = [];
  const closeAll = () => Promise.all(servers.splice(0).map((server) => server.close()));
  const interrupted = () => void closeAll().finally(() => process.exit(1));
  for (const signal of SIGNALS) process.once(signal, interrupted);
  try {
    for (const url of urls) servers.push(await openGivenServer(url));
    for (const { name } of wish.subjects) {
      const measured = await MEASURES[name]!(servers, plan, (message) => tell(`${name}: ${message}`));
      reports[name] = measured.report;
      texts.push(measured.text, "");
    }
    const leftOut = [
      ...LEFT_OUT,
      ...servers.flatMap(({ topology, leftOut: its }) => its.map((one) => `${one} (${topology})`)),
    ];
    const topologies = servers.map(({ topology }) => topology);
    if (wish.json) return JSON.stringify({ servers: topologies, plan, reports, leftOut }, null, 2);
    return [...texts, "Left out:", ...leftOut.map((one) => `- ${one}`)].join("\n");
  } finally {
    await closeAll();
    for (const signal of SIGNALS) process.off(signal, interrupted);
  }
}
