import { parseArgs } from "node:util";
import { startBenchServer } from "./bench-server.ts";
import { fillBooks } from "./books.ts";
import { measureBudget } from "./budget.ts";
import { startChild } from "./child.ts";
import { measureConfirmations } from "./confirmations.ts";
import { measureDeliveries } from "./deliveries.ts";
import { describeMachine } from "./machine.ts";
import { COMMISSION_PERCENT, type Loans } from "./payment.ts";
import { FULL_PLAN, type Plan, QUICK_PLAN } from "./plan.ts";
import type { ReceiverQuestion } from "./receiver.ts";
import { type Report, reportText } from "./report.ts";

const USAGE = `Measures the service beside its limits, on a PostgreSQL of its own; takes about three minutes.

  --quick   half a minute, for a first look
  --json    print one JSON document instead of tables
`;

const options = { quick: { type: "boolean" }, json: { type: "boolean" }, help: { type: "boolean" } } as const;
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));
const { values } = parseArgs({ options, args: process.argv.slice(2).filter((arg) => arg !== "--") });
if (values.help) {
  process.stdout.write(USAGE);
} else {
  const report = await run(values.quick ? QUICK_PLAN : FULL_PLAN);
  process.stdout.write(`${values.json ? JSON.stringify(report, null, 2) : reportText(report)}\n`);
}

/** Sets up two databases of the same content, measures, and takes everything down again. */
async function run(plan: Plan): Promise<Report> {
  const startedAt = performance.now();
  const server = await startBenchServer();
  const machine = describeMachine(server.version);
  const receiver = startChild("receiver.ts");
  try {
    onProgress("filling the books");
    const paid: Loans = { lenderCodes: lenderCodes(plan.lenders), perLender: plan.loansPerLender };
    const told: Loans = { lenderCodes: ["TOLD"], perLender: plan.eventLoans };
    const service = await server.createDatabase("service");
    const callbackUrl = await receiver.ask<string>({ ask: "url" } satisfies ReceiverQuestion);
    const books = await fillBooks(service, [
      { loans: paid, options: [`--commission-percent=${COMMISSION_PERCENT}`] },
      { loans: told, options: [`--callback-url=${callbackUrl}`] },
    ]);
    const statement = await server.createDatabase("statement", "service");
    await server.checkpoint();

    const databaseUrls = { service, statement };
    const confirmations = await measureConfirmations({ plan, server, books, loans: paid, databaseUrls, onProgress });
    const deliveries = await measureDeliveries({
      plan,
      server,
      books,
      loans: told,
      databaseUrl: service,
      receiver,
      onProgress,
    });
    onProgress("statements on the wire");
    const batches = await measureBudget(service, books.keys[0]!, paid);
    onProgress("done");
    return { machine, plan, confirmations, deliveries, batches };
  } finally {
    await receiver.stop();
    await server.stop();
  }

  function onProgress(message: string): void {
    const seconds = ((performance.now() - startedAt) / 1_000).toFixed(0).padStart(4);
    process.stderr.write(`${seconds} s  ${message}\n`);
  }
}

function lenderCodes(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `PAID${index + 1}`);
}
