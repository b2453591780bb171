import { parseArgs } from "node:util";
import { type AppReport, measureApp } from "./app.ts";
import { type BenchServer, startBenchServer } from "./bench-server.ts";
import { createLender, fillBooks } from "./books.ts";
import { measureBudget } from "./budget.ts";
import { startChild } from "./child.ts";
import type { ConfirmationReport } from "./confirmation-report.ts";
import { measureConfirmations } from "./confirmations.ts";
import { type ImportFigures, measureImports } from "./imports.ts";
import { describeMachine } from "./machine.ts";
import { COMMISSION_PERCENT, type Loans } from "./payment.ts";
import { FULL_PLAN, type Plan, QUICK_PLAN } from "./plan.ts";
import type { Callbacks, ReceiverQuestion } from "./receiver.ts";
import { type Report, reportText } from "./report.ts";
import { measureSigning } from "./signing.ts";
import { measureWebhooks, type WebhookFigures } from "./webhooks.ts";

const USAGE = `Measures the service beside its limits and a rival, on a PostgreSQL of its own.

  pnpm bench                 everything; about thirteen minutes
  pnpm bench confirmations   payments confirmed over HTTP; two minutes
  pnpm bench webhooks        events told to lenders; five minutes
  pnpm bench import          files of cases over HTTP; four minutes
  pnpm bench signing         signatures made and checked; half a minute
  pnpm bench app             field partners' lists and payment links; two minutes

  --quick   a minute, for a first look
  --json    print one JSON document instead of tables
`;

const SUBJECTS = ["confirmations", "webhooks", "import", "signing", "app"] as const;
type Subject = (typeof SUBJECTS)[number];

const options = { quick: { type: "boolean" }, json: { type: "boolean" }, help: { type: "boolean" } } as const;
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));
const args = process.argv.slice(2).filter((arg) => arg !== "--");
const { values, positionals } = parseArgs({ options, args, allowPositionals: true });
const unknown = positionals.find((name) => !SUBJECTS.some((subject) => subject === name));
if (values.help) {
  process.stdout.write(USAGE);
} else if (unknown !== undefined) {
  process.stderr.write(`There is no benchmark named ${unknown}.\n\n${USAGE}`);
  process.exitCode = 2;
} else {
  const subjects = SUBJECTS.filter((subject) => positionals.length === 0 || positionals.includes(subject));
  const report = await run(values.quick ? QUICK_PLAN : FULL_PLAN, subjects);
  process.stdout.write(`${values.json ? JSON.stringify(report, null, 2) : reportText(report)}\n`);
}

interface Bench {
  readonly plan: Plan;
  readonly server: BenchServer;
  readonly onProgress: (message: string) => void;
}

/** Measures one subject after the other, and takes everything down again; signatures need no database. */
async function run(plan: Plan, subjects: readonly Subject[]): Promise<Report> {
  const startedAt = performance.now();
  const server = subjects.some((subject) => subject !== "signing") ? await startBenchServer() : undefined;
  const machine = describeMachine(server?.version);
  try {
    const stored = server && (await withDatabases({ plan, server, onProgress }, subjects));
    if (subjects.includes("signing")) onProgress("signing and verifying");
    const signing = subjects.includes("signing") && { signing: await measureSigning(plan.signing) };
    onProgress("done");
    return { machine, plan, ...stored, ...signing };
  } finally {
    await server?.stop();
  }

  function onProgress(message: string): void {
    const seconds = ((performance.now() - startedAt) / 1_000).toFixed(0).padStart(4);
    process.stderr.write(`${seconds} s  ${message}\n`);
  }
}

/** Each subject on databases of its own. */
async function withDatabases(bench: Bench, subjects: readonly Subject[]) {
  return {
    ...(subjects.includes("confirmations") && { confirmations: await confirmations(bench) }),
    ...(subjects.includes("webhooks") && { webhooks: await webhooks(bench) }),
    ...(subjects.includes("import") && { imports: await imports(bench) }),
    ...(subjects.includes("app") && { app: await app(bench) }),
  };
}

/** Two databases of the same content: the service pays into one, the bare statement into the other. */
async function confirmations({
  plan: { confirmations: plan },
  server,
  onProgress,
}: Bench): Promise<ConfirmationReport> {
  onProgress("filling the books to confirm");
  const lenderCodes = Array.from({ length: plan.lenders }, (_, index) => `PAID${index + 1}`);
  const loans: Loans = { lenderCodes, perLender: plan.loansPerLender };
  const service = await server.createDatabase("service");
  const books = await fillBooks(service, [{ loans, options: [`--commission-percent=${COMMISSION_PERCENT}`] }]);
  const statement = await server.createDatabase("statement", "service");
  await server.checkpoint();
  const databaseUrls = { service, statement };
  const figures = await measureConfirmations({ plan, server, books, loans, databaseUrls, onProgress });
  onProgress("statements on the wire");
  return { figures, batches: await measureBudget(service, books.keys[0]!, loans) };
}

/** Two lenders with callbacks at the same receiver. */
async function webhooks({ plan: { webhooks: plan }, server, onProgress }: Bench): Promise<WebhookFigures> {
  const receiver = startChild("receiver.ts");
  try {
    onProgress("filling the books to tell of");
    const callbacks = await receiver.ask<Callbacks>({ ask: "callbacks" } satisfies ReceiverQuestion);
    const loans = {
      prompt: { lenderCodes: ["PROMPT"], perLender: plan.loans },
      slow: { lenderCodes: ["SLOW"], perLender: plan.loans },
    };
    const databaseUrl = await server.createDatabase("told");
    const books = await fillBooks(databaseUrl, [
      { loans: loans.prompt, options: [`--callback-url=${callbacks.prompt}`] },
      { loans: loans.slow, options: [`--callback-url=${callbacks.slow}`] },
    ]);
    await server.createDatabase("empty", "told");
    await server.checkpoint();
    const template = "empty";
    return await measureWebhooks({
      plan,
      server,
      books,
      loans,
      databaseUrl,
      template,
      receiver,
      callbacks,
      onProgress,
    });
  } finally {
    await receiver.stop();
  }
}

/** Each round begins with copies of a database that has a lender and nothing else. */
async function imports({ plan: { imports: plan }, server, onProgress }: Bench): Promise<ImportFigures[]> {
  const template = "lender_only";
  const key = await createLender(await server.createDatabase(template), "FILE", []);
  return measureImports({ plan, server, template, key, onProgress });
}

/** A database with one lender and one field partner. */
function app({ plan: { app: plan }, server, onProgress }: Bench): Promise<AppReport> {
  return measureApp({ plan, server, onProgress });
}
