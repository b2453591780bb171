import type { AppReport } from "./app.ts";
import { appText } from "./app-report.ts";
import { type ConfirmationReport, confirmationText } from "./confirmation-report.ts";
import { importText } from "./import-report.ts";
import type { ImportFigures } from "./imports.ts";
import type { Machine } from "./machine.ts";
import type { Plan } from "./plan.ts";
import type { SigningReport } from "./signing.ts";
import { signingText } from "./signing-report.ts";
import { webhookText } from "./webhook-report.ts";
import type { WebhookFigures } from "./webhooks.ts";

/** All that a run has measured; `--json` prints it as it is. What was not asked for is absent. */
export interface Report {
  readonly machine: Machine;
  readonly plan: Plan;
  readonly confirmations?: ConfirmationReport;
  readonly webhooks?: WebhookFigures;
  readonly imports?: readonly ImportFigures[];
  readonly signing?: SigningReport;
  readonly app?: AppReport;
}

/** The report for people. Only its ratios carry over to another machine. */
export function reportText({ machine, plan, confirmations, webhooks, imports, signing, app }: Report): string {
  const database = machine.postgres === undefined ? "" : `PostgreSQL ${machine.postgres}, durable commits; `;
  return [
    `${machine.processors} × ${machine.model}, ${machine.memoryGiB} GiB, ${machine.platform}`,
    `Node ${machine.node}, ${database}load before the run ${machine.loadBefore}`,
    ...(confirmations ? ["", confirmationText(plan.confirmations, confirmations)] : []),
    ...(webhooks ? ["", webhookText(plan.webhooks, webhooks)] : []),
    ...(imports ? ["", importText(plan.imports, imports)] : []),
    ...(signing ? ["", signingText(plan.signing, signing)] : []),
    ...(app ? ["", appText(plan.app, app)] : []),
    "",
    "Medians, with the smallest and the largest round. others: processors busy with other processes.",
  ].join("\n");
}
