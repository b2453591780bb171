import { UsageError, type Options } from "../arguments.ts";
import { givenConfirmationText, measureGivenConfirmations } from "./given-confirmations.ts";
import { type GivenServer, openGivenServer } from "../server/given-server.ts";
import { givenWebhookText, measureGivenWebhooks } from "./given-webhooks.ts";
import { FULL_PLAN, type Plan, QUICK_PLAN } from "../plan.ts";

type Log = (message: string) => void;

/**
 * Measures a subject on the existing servers of `DATABASE_URL` and `--beside`. Returns the report as data, and as
 * tables.
 */
type Measure = (servers: readonly GivenServer[], plan: Plan, log: Log) => Promise<{ report: unknown; text: string }>;

const MEASURES: Readonly<Record<string, Measure>> = {
  async confirmations(servers, { confirmations: plan }, log) {
    const report = await measureGivenConfirmations(servers, plan, log);
    return { report, text: givenConfirmationText(servers, plan, report) };
  },
  async webhooks(servers, { webhooks: plan }, log) {
    const report = await measureGivenWebhooks(servers, plan, log);
    return { report, text: givenWebhookText(servers, plan, report) };
  },
};

const SIGNALS = ["SIGINT", "SIGTERM"] as const;

const LEFT_OUT = [
  "The comparison with one SQL statement per payment, with a plain handler and with pg-boss: it needs a PostgreSQL 18 started by the benchmark, and copies of a database.",
  "Times from commit to receipt, and leases in large tables: they need settings and files of the server.",
];

/**
 * Measures on the server of `DATABASE_URL`, alternating with the server of `--beside`. Creates databases on these
 * servers and drops them at the end. Returns the text to print.
 * @throws UsageError
 */
export async function runOnGivenServers(options: Options, urls: readonly string[], log: Log): Promise<string> {
  const other = options.subjects.find(({ name }) => MEASURES[name] === undefined);
  if (other !== undefined || options.showsOnly || options.resume) {
    throw new UsageError(
      `With DATABASE_URL, name one or more of these subjects: ${Object.keys(MEASURES).join(", ")}. --table and --resume cannot be used with it.`,
    );
  }
  const plan = options.isQuick ? QUICK_PLAN : FULL_PLAN;
  const servers: GivenServer[] = [];
  const reports: Record<string, unknown> = {};
  const texts: string[] = [];
  const closeAll = () => Promise.all(servers.splice(0).map((server) => server.close()));
  const interrupted = () => void closeAll().finally(() => process.exit(1));
  for (const signal of SIGNALS) process.once(signal, interrupted);
  try {
    for (const url of urls) servers.push(await openGivenServer(url));
    for (const { name } of options.subjects) {
      const measured = await MEASURES[name]!(servers, plan, (message) => log(`${name}: ${message}`));
      reports[name] = measured.report;
      texts.push(measured.text, "");
    }
    const leftOut = [
      ...LEFT_OUT,
      ...servers.flatMap(({ topology, leftOut: its }) => its.map((one) => `${one} (${topology})`)),
    ];
    const topologies = servers.map(({ topology }) => topology);
    if (options.json) return JSON.stringify({ servers: topologies, plan, reports, leftOut }, null, 2);
    return [...texts, "Left out:", ...leftOut.map((one) => `- ${one}`)].join("\n");
  } finally {
    await closeAll();
    for (const signal of SIGNALS) process.off(signal, interrupted);
  }
}
