import { publicId } from "@collections/database";
import { onOneLine } from "@collections/flows";
import type { TenantWebhooks } from "@collections/webhooks";
import { Command } from "commander";
import { doctorReport } from "../../desk/doctor.ts";
import type { DoctorProblem } from "../../desk/doctor-words.ts";
import { counted } from "../../desk/counted.ts";
import { machineTimeZone, momentText } from "../terminal/local-time.ts";
import { EXIT } from "../terminal/refusal.ts";
import { endProgress, showProgress } from "../terminal/terminal.ts";
import { answer, lenderNamed, type Operator, table, withDatabase } from "../terminal/with-database.ts";

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
  const one = code === undefined ? undefined : await lenderNamed(em(), code);
  const report = await doctorReport({ em, config, vault }, one, (lender) =>
    showProgress(`lender ${lender.done + 1} of ${lender.of}: ${lender.code}`),
  );
  endProgress();
  const lenders = report.tenants.map((lender) =>
    shownLender(lender, report.codes.get(lender.tenantId) ?? lender.tenantId),
  );
  answerFound(report.problems, { at: report.at, lenders }, report.isComplete ? undefined : NOT_CHECKED);
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
