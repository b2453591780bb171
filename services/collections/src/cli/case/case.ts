import { publicId } from "@collections/database";
import { assignCase, type CaseOrderOutcome, closeCase, holdCase, releaseCase, unassignCase } from "@collections/flows";
import { toDecimal } from "@collections/money";
import { Command } from "commander";
import { addImportCommand } from "./case-import.ts";
import { notFound, Refusal } from "../terminal/refusal.ts";
import { answer, idOf, lenderNamed, withDatabase } from "../terminal/with-database.ts";

const ORDERS = {
  unassign: { verb: unassignCase, description: "Take the case away from its field partner.", needsReason: false },
  hold: { verb: holdCase, description: "Stop all contact with the borrower.", needsReason: true },
  release: { verb: releaseCase, description: "End a hold.", needsReason: false },
  close: { verb: closeCase, description: "End the case without full payment.", needsReason: true },
} as const;

/** `case …`: import cases, and assign, hold or end a loan's current case. */
export function caseCommand(): Command {
  const command = new Command("case").description("Import, assign, hold and end cases.");
  addImportCommand(command);
  command
    .command("assign")
    .argument("<lender>", "the lender's code")
    .argument("<loan>", "the lender's loan number")
    .argument("<field-partner-id>", "the person who will visit the borrower")
    .option("--reason <text>", "the reason, for the audit log")
    .description("Assign the case to a field partner, even if another field partner has it.")
    .addHelpText("after", "\nExample:\n  pnpm collections case assign ACME LN-1001 fp_0192…")
    .action((lender: string, loan: string, holder: string, { reason }: { reason?: string }) =>
      withDatabase(async ({ config, em }) => {
        const fieldPartnerId = idOf("fp", "field partner", holder);
        const order = { lender: await lenderNamed(em(), lender), loan, reason: reason ?? null, fieldPartnerId };
        tell(await assignCase(em(), order, config.environment), { loan, holder });
      }),
    );
  for (const [name, { verb, description, needsReason }] of Object.entries(ORDERS)) {
    const order = command
      .command(name)
      .argument("<lender>", "the lender's code")
      .argument("<loan>", "the lender's loan number")
      .description(description)
      .addHelpText("after", `\nExample:\n  pnpm collections case ${name} ACME LN-1001 --reason "asked by the lender"`)
      .action((lender: string, loan: string, { reason }: { reason?: string }) =>
        withDatabase(async ({ config, em }) => {
          const asked = { lender: await lenderNamed(em(), lender), loan, reason: reason ?? null };
          tell(await verb(em(), asked, config.environment), { loan, holder: "" });
        }),
      );
    if (needsReason) order.requiredOption("--reason <text>", "the reason, which the lender sees");
    else order.option("--reason <text>", "the reason, for the audit log");
  }
  return command;
}

function tell(outcome: CaseOrderOutcome, { loan, holder }: { loan: string; holder: string }): void {
  if (outcome.kind === "loan_not_found") throw notFound("loan", loan);
  if (outcome.kind === "field_partner_not_found") throw notFound("field partner", holder);
  if (outcome.kind === "field_partner_suspended") {
    const detail = `Field partner ${holder} is suspended: assign the case to another field partner, or resume this field partner first.`;
    throw new Refusal("FIELD_PARTNER_SUSPENDED", detail);
  }
  if (outcome.kind === "refused") throw new Refusal(outcome.refusal.code, outcome.refusal.detail);
  const { caseAfter } = outcome;
  const { assignedFieldPartnerId: fieldPartnerId, currency, sourceLoanNumber, status, fieldWork } = caseAfter;
  answer(
    {
      caseId: publicId("case", caseAfter.id),
      sourceLoanNumber,
      status,
      fieldWork,
      fieldPartnerId: fieldPartnerId === null ? null : publicId("fp", fieldPartnerId),
      outstandingAmount: toDecimal(caseAfter.outstandingMinor, currency),
      currency,
      sequence: Number(caseAfter.sequence),
    },
    `The case of ${sourceLoanNumber} is ${status.replaceAll("_", " ")}, field work is ${fieldWork}.`,
  );
}
