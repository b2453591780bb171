import { failedJobs, publicId } from "@collections/database";
import { onOneLine } from "@collections/flows";
import { anchorState } from "@collections/ledger";
import { listLenders, unreadableSecrets } from "@collections/lenders";
import { checkWebhooks, type LenderWebhooks } from "@collections/webhooks";
import { Command } from "commander";
import { counted } from "./counted.ts";
import {
  type DoctorProblem,
  problemOfJobs,
  problemOfSecret,
  problemOfWebhooks,
  problemsOfAnchors,
} from "./doctor-words.ts";
import { machineTimeZone, momentText } from "../local-time.ts";
import { EXIT } from "./refusal.ts";
import { endProgress, showProgress } from "./terminal.ts";
import { answer, lenderNamed, type Operator, table, withDatabase } from "./with-database.ts";

/** `doctor`: whether workers do their work, and what stands in the way of events. */
export function doctorCommand(): Command {
  return new Command("doctor")
    .option("--lender <code>", "of this lender only")
    .description("Look for events that do not go out as they should, and say what to do about each.")
    .addHelpText(
      "after",
      `
A fault is ours; a warning is a lender's trouble, such as a suspended callback. It only reads.
Exits with 1 when there is a fault, with 0 when there are only warnings.

Example:
  pnpm collections doctor --json`,
    )
    .action(({ lender }: { lender?: string }) => withDatabase((operator) => examine(operator, lender)));
}

async function examine({ em, config, vault }: Operator, code: string | undefined): Promise<void> {
  const one = code === undefined ? undefined : await lenderNamed(em(), code);
  const codes = new Map((one ? [one] : await listLenders(em())).map(({ id, code }) => [id, code]));
  const report = await checkWebhooks(em(), {
    lenderId: one?.id,
    onProgress: ({ lenderId, done, of }) => {
      showProgress(`lender ${done + 1} of ${of}: ${codes.get(lenderId)}`);
    },
  });
  endProgress();
  const jobs = one ? [] : await failedJobs(em());
  const anchors = await anchorState(em(), [...codes.keys()]);
  const unreadable = await unreadableSecrets(em(), vault, one?.id);
  const found = [
    ...unreadable.map((secret) => problemOfSecret(secret, codes)),
    ...report.problems.map((problem) => problemOfWebhooks(problem, codes)),
    ...jobs.map(problemOfJobs),
    ...problemsOfAnchors(anchors, config, report.at),
  ];
  const faults = found.filter(({ severity }) => severity === "fault");
  const warnings = found.filter(({ severity }) => severity === "warning");
  const problems = [...faults, ...warnings];
  const lenders = report.lenders.map((lender) => shownLender(lender, codes.get(lender.lenderId) ?? lender.lenderId));
  const verdict = `${counted(faults.length, "fault")}, ${counted(warnings.length, "warning")}.`;
  answer(
    { ok: faults.length === 0, at: report.at, faults: faults.length, warnings: warnings.length, problems, lenders },
    [
      ...(lenders.length === 0 ? [] : [table([HEADER, ...lenders.map(cells)]), ""]),
      ...problems.flatMap(lines),
      verdict,
    ].join("\n"),
  );
  if (faults.length > 0) process.exitCode = EXIT.refused;
}

const HEADER = ["LENDER", "ENDPOINT", "PUBLISHED", "DELIVERED", "WAITING", "RETRYING", "PARKED", "OLDEST WAITING"];

type ShownLender = ReturnType<typeof shownLender>;

function shownLender(webhooks: LenderWebhooks, lenderCode: string) {
  const { url, state, suspendedAt, published, delivered, waiting, retrying, parked } = webhooks;
  const { oldestUndelivered: oldest } = webhooks;
  const oldestWaiting = oldest && {
    eventId: publicId("evt", oldest.eventId),
    sourceLoanNumber: oldest.loan,
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
