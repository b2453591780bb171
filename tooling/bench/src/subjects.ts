import { measureApp } from "./app/app.ts";
import { appLines, appText } from "./app/app-report.ts";
import { createLender, fillBooks } from "./books/books.ts";
import { measureBudget } from "./confirmations/budget.ts";
import { startChild } from "./load/child.ts";
import { confirmationLines, type ConfirmationReport, confirmationText } from "./confirmations/confirmation-report.ts";
import { measureConfirmations } from "./confirmations/confirmations.ts";
import { importLines, importText } from "./imports/import-report.ts";
import { type GrowthReport, measureGrowth } from "./growth/growth.ts";
import { growthLines, growthText } from "./growth/growth-report.ts";
import { type ImportFigures, measureImports } from "./imports/imports.ts";
import { COMMISSION_PERCENT, type Loans } from "./load/payment.ts";
import { headingLines, headingText, measureFirstHeading } from "./page/first-heading.ts";
import { measurePackages, type PackagesReport } from "./packages/packages.ts";
import { packagesLines, packagesText } from "./packages/packages-report.ts";
import { measureProcesses } from "./processes/processes.ts";
import { processesLines, processesText } from "./processes/processes-report.ts";
import { reconciliationLines, reconciliationText } from "./reconciliations/reconciliation-report.ts";
import { neighbourLines, neighbourText } from "./reconciliations/neighbour-report.ts";
import { measureNeighbour } from "./reconciliations/neighbour.ts";
import { measureReconciliations } from "./reconciliations/reconciliations.ts";
import type { Callbacks, ReceiverQuestion } from "./webhooks/receiver.ts";
import { measureSchema } from "./schema/schema-cost.ts";
import { schemaLines, schemaText } from "./schema/schema-report.ts";
import { measureStart, startLines, startText } from "./start/start.ts";
import { type Bench, type Subject, subject } from "./subject.ts";
import { webhookLines, webhookText } from "./webhooks/webhook-report.ts";
import { measureWebhooks, type WebhookFigures } from "./webhooks/webhooks.ts";

/** Every subject, in the order of the measurements. */
export const subjects: readonly Subject[] = [
  subject({
    name: "confirmations",
    about:
      "payments confirmed over HTTP, compared with one SQL statement per payment and with a plain handler; 6 minutes",
    measure: confirmations,
    text: (plan, report) => confirmationText(plan.confirmations, report),
    lines: (plan, report) => confirmationLines(plan.confirmations, report),
  }),
  subject({
    name: "webhooks",
    about: "events delivered to lenders, compared with pg-boss and with a program that only posts; 5 minutes",
    measure: webhooks,
    text: (plan, figures) => webhookText(plan.webhooks, figures),
    lines: (plan, figures) => webhookLines(plan.webhooks, figures),
  }),
  subject({
    name: "import",
    about: "files of cases imported over HTTP, compared with PostgreSQL's COPY; 4 minutes",
    measure: imports,
    text: (plan, figures) => importText(plan.imports, figures),
    lines: (plan, figures) => importLines(plan.imports, figures),
  }),
  subject({
    name: "reconcile",
    about: "files of payments compared with bookings, compared with COPY; 6 minutes",
    measure: ({ plan, server, onProgress }) =>
      measureReconciliations({ plan: plan.reconciliations, server, onProgress }),
    text: (plan, figures) => reconciliationText(plan.reconciliations, figures),
    lines: (plan, figures) => reconciliationLines(plan.reconciliations, figures),
  }),
  subject({
    name: "neighbour",
    about: "confirmations beside another lender that only reconciles, compared with confirmations alone; 2 minutes",
    measure: ({ plan, server, onProgress }) => measureNeighbour({ plan: plan.neighbour, server, onProgress }),
    text: (plan, figures) => neighbourText(plan.neighbour, figures),
    lines: (plan, figures) => neighbourLines(plan.neighbour, figures),
  }),
  subject({
    name: "app",
    about: "field partners' lists, payment links, and GraphQL queries that are expensive to validate; 3 minutes",
    measure: ({ plan, server, onProgress }) => measureApp({ plan: plan.app, server, onProgress }),
    text: (plan, report) => appText(plan.app, report),
    lines: (plan, report) => appLines(plan.app, report),
  }),
  subject({
    name: "processes",
    about: "1, 2 and 4 servers and workers on one PostgreSQL; 4 minutes",
    measure: ({ plan, server, onProgress }) => measureProcesses({ plan: plan.processes, server, onProgress }),
    text: (plan, figures) => processesText(plan.processes, figures),
    lines: (plan, figures) => processesLines(plan.processes, figures),
  }),
  subject({
    name: "schema",
    about: "PostgreSQL's processor time for a payment, compared with a lean schema of the same facts; 3 minutes",
    measure: ({ plan, server, onProgress }) => measureSchema({ plan: plan.schema, server, onProgress }),
    text: (plan, costs) => schemaText(plan.schema, costs),
    lines: (plan, costs) => schemaLines(plan.schema, costs),
  }),
  subject({
    name: "start",
    about:
      "the start and the memory of the service and of commands, compared with minimal processes of Express and pg; 4 minutes",
    measure: ({ plan, server, onProgress }) => measureStart({ plan: plan.start, server, onProgress }),
    text: (plan, report) => startText(plan.start, report),
    lines: (plan, report) => startLines(plan.start, report),
  }),
  subject({
    name: "page",
    about:
      "the first heading of the field partners' app over slow 3G, compared with a page of one small script; 1 minute",
    measure: ({ plan, server, onProgress }) => measureFirstHeading({ plan: plan.page, server, onProgress }),
    text: (plan, report) => headingText(plan.page, report),
    lines: (plan, report) => headingLines(plan.page, report),
  }),
  subject({
    name: "packages",
    about:
      "the packages for ledgers and webhooks, compared with tables by hand, pg-boss, standardwebhooks, and pgledger if given; 5 minutes",
    measure: ({ plan, begun, ...bench }) =>
      measurePackages({ ...bench, plan: plan.packages, begun: begun as Partial<PackagesReport> | undefined }),
    text: (plan, report) => packagesText(plan.packages, report),
    lines: (plan, report) => packagesLines(plan.packages, report),
  }),
  subject({
    name: "growth",
    about: "confirmations and deliveries in databases of up to 10 million events; an hour and 50 GB",
    isLong: true,
    measure: ({ plan, begun, ...bench }) =>
      measureGrowth({ ...bench, plan: plan.growth, begun: begun as GrowthReport | undefined }),
    text: (plan, report) => growthText(plan.growth, report),
    lines: (plan, report) => growthLines(plan.growth, report),
  }),
];

/**
 * Measures how fast payments are confirmed by three programs: the service, the fastest possible program (one SQL
 * statement per payment) and the usual solution (a plain handler). Each program has its own database, and all three
 * databases start with the same content.
 */
async function confirmations({
  plan: { confirmations: plan },
  server,
  onProgress,
}: Bench): Promise<ConfirmationReport> {
  onProgress("filling the database");
  const lenderCodes = Array.from({ length: plan.lenders }, (_, index) => `PAID${index + 1}`);
  const loans: Loans = { lenderCodes, perLender: plan.loansPerLender };
  const service = await server.createDatabase("service");
  const books = await fillBooks(service, [{ loans, options: [`--commission-percent=${COMMISSION_PERCENT}`] }]);
  const statement = await server.createDatabase("statement", "service");
  const handler = await server.createDatabase("handler", "service");
  await server.checkpoint();
  const databaseUrls = { service, statement, handler };
  const figures = await measureConfirmations({ plan, server, books, loans, databaseUrls, onProgress });
  onProgress("counting the SQL statements of a batch");
  return { figures, batches: await measureBudget(service, books.keys[0]!, loans) };
}

/** Measures the delivery of events to two lenders. Both lenders have their callback at the same receiver. */
async function webhooks({ plan: { webhooks: plan }, server, onProgress }: Bench): Promise<WebhookFigures> {
  const receiver = startChild(new URL("webhooks/receiver.ts", import.meta.url));
  try {
    onProgress("filling the database");
    const callbacks = await receiver.ask<Callbacks>({ ask: "callbacks" } satisfies ReceiverQuestion);
    const loans = {
      prompt: { lenderCodes: ["PROMPT"], perLender: plan.loans },
      slow: { lenderCodes: ["SLOW"], perLender: plan.loans },
    };
    const databaseUrl = await server.createDatabase("events");
    const books = await fillBooks(databaseUrl, [
      { loans: loans.prompt, options: [`--callback-url=${callbacks.prompt}`] },
      { loans: loans.slow, options: [`--callback-url=${callbacks.slow}`] },
    ]);
    await server.createDatabase("empty", "events");
    await server.checkpoint();
    const given = { plan, server, books, loans, databaseUrl, template: "empty" };
    return await measureWebhooks({ ...given, receiver, callbacks, onProgress });
  } finally {
    await receiver.stop();
  }
}

/** Measures imports. Each round begins with two new copies of a database that contains only a lender. */
async function imports({ plan: { imports: plan }, server, onProgress }: Bench): Promise<ImportFigures[]> {
  const template = "lender_only";
  const key = await createLender(await server.createDatabase(template), "FILE", []);
  return measureImports({ plan, server, template, key, onProgress });
}
