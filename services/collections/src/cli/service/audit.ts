import { onOneLine } from "@collections/flows";
import { listLenders } from "@collections/lenders";
import { timeIn } from "@collections/local-time";
import { Command, InvalidArgumentError } from "commander";
import { actorText } from "../../desk/actor-text.ts";
import { dataText, listWholeAudit, shownAct } from "../../desk/audit.ts";
import { machineTimeZone } from "../terminal/local-time.ts";
import { formatOf, type PageOptions, printPage, withPageOptions } from "../terminal/page-options.ts";
import { type LocalMoment, readMoment } from "../terminal/read-options.ts";
import { EXIT, Refusal } from "../terminal/refusal.ts";
import { idOf, isUuid, lenderNamed, withDatabase } from "../terminal/with-database.ts";

interface ListOptions extends PageOptions<string> {
  lender?: string;
  fieldPartner?: string;
  act?: string;
  since?: LocalMoment;
  by?: string;
}

/** `audit …`: list what was done, and why. */
export function auditCommand(): Command {
  const command = new Command("audit").description("Show what operators and field partners have done.");
  const list = command
    .command("list")
    .description("List the recorded actions on lenders, and about field partners and operators.");
  withPageOptions(list, readCursor)
    .option("--lender <code>", "only actions on this lender and its cases")
    .option("--field-partner <id>", "only actions about this person")
    .option("--act <name>", "only this kind of action, or its beginning, such as case. or contact.revealed", readAct)
    .option("--by <operator>", "only what this operator has done, by the name of their system user", readOperator)
    .option("--since <moment>", 'only actions at this time or later, such as "2026-11-20 18:00" or 24h', readMoment)
    .addHelpText(
      "after",
      `
The entries are listed newest first. The audit is never changed or deleted.

Examples:
  pnpm collections audit list --lender ACME --act lender.
  pnpm collections audit list --by asha --since 24h
  pnpm collections audit list --act contact.revealed --since 168h --csv
  pnpm collections audit list --field-partner fp_0192… --json`,
    )
    .action((options: ListOptions) => listEntries(options));
  return command;
}

async function listEntries(options: ListOptions): Promise<void> {
  const { limit, cursor, csv, lender: code, fieldPartner, act, since, by } = options;
  const format = formatOf({ csv });
  if (code !== undefined && fieldPartner !== undefined) {
    throw new Refusal("NOT_UNDERSTOOD", "Give either --lender or --field-partner.", EXIT.notUnderstood);
  }
  await withDatabase(async ({ em }) => {
    const personId = fieldPartner === undefined ? undefined : idOf("fp", "field partner", fieldPartner);
    const lenders =
      code !== undefined ? [await lenderNamed(em(), code)] : personId === undefined ? await listLenders(em()) : [];
    const timeZone = lenders.length === 1 ? lenders[0]!.timeZone : machineTimeZone();
    const found = await listWholeAudit(em(), {
      lenders,
      hasOperators: code === undefined && personId === undefined,
      fieldPartner: code !== undefined ? null : personId === undefined ? "all" : { id: personId },
      act,
      actor: by === undefined ? undefined : `operator:${by}`,
      since: since?.(timeZone),
      before: cursor,
      limit: limit + 1,
    });
    printPage(format, {
      name: "entries",
      items: found.slice(0, limit).map(shownAct),
      nextCursor: found.length > limit ? found[limit - 1]!.id : null,
      fields: ["at", "lenderCode", "fieldPartnerId", "fieldPartnerName", "act", "by", "reason", "data", "operator"],
      columns: {
        [`TIME (${timeZone})`]: ({ at }) => timeIn(timeZone, new Date(at)),
        LENDER: ({ lenderCode }) => lenderCode ?? "",
        "FIELD PARTNER": ({ fieldPartnerName, fieldPartnerId }) => fieldPartnerName ?? fieldPartnerId ?? "",
        OPERATOR: ({ operator }) => operator ?? "",
        ACT: (entry) => entry.act,
        BY: ({ by, fieldPartnerName }) => (by?.startsWith("field_partner:") && fieldPartnerName) || actorText(by),
        REASON: ({ reason }) => onOneLine(reason ?? ""),
        DATA: ({ data }) => onOneLine(dataText(data)),
      },
      none: "No entry matches.",
    });
  });
}

function readAct(text: string): string {
  if (/^[a-z_.]{1,60}$/.test(text)) return text;
  throw new InvalidArgumentError("Expected a kind of action such as case.assign, or its beginning.");
}

function readOperator(text: string): string {
  if (/^[^\p{Cc}]{1,200}$/u.test(text)) return text;
  throw new InvalidArgumentError("Expected the name of a system user, of 1 to 200 characters.");
}

function readCursor(text: string): string {
  if (isUuid(text)) return text.toLowerCase();
  throw new InvalidArgumentError("Expected the nextCursor of a page.");
}
