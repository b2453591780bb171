import { publicId, transaction } from "@collections/database";
import { onOneLine } from "@collections/flows";
import { type Lender, type LenderProfile, recordAct } from "@collections/lenders";
import {
  endpointOf,
  type EndpointStatus,
  type FailedAttempt,
  lastFailedAttempt,
  oldestUndelivered,
  recoverEndpoint,
  testEndpoint,
  type UndeliveredEvent,
} from "@collections/webhooks";
import { Command } from "commander";
import { pingTo } from "../../worker/callbacks.ts";
import { counted } from "../../desk/counted.ts";
import { momentText } from "../terminal/local-time.ts";
import { mintCommand } from "./endpoint-mint.ts";
import { wordsFor } from "../../desk/failure-words.ts";
import { pingLines, probeCallback, recoveredText } from "../../desk/connection/callback-test.ts";
import { readReason } from "../terminal/read-options.ts";
import { EXIT, notFound } from "../terminal/refusal.ts";
import { withWebhookSender } from "./with-webhook-sender.ts";
import { answer, lenderNamed, type Operator, table, withDatabase } from "../terminal/with-database.ts";

/** `endpoint …`: show, probe and resume the callback of a lender, and test its mint endpoint. */
export function endpointCommand(): Command {
  const endpoint = new Command("endpoint").description(
    "The callbacks that receive events, and the endpoints that mint links.",
  );
  endpoint
    .command("show")
    .argument("<lender>", "the lender's code")
    .description("Show a lender's callback: its failures, its backlog, and the last error.")
    .addHelpText("after", "\nExample:\n  pnpm collections endpoint show ACME --json")
    .action((code: string) => withDatabase((operator) => show(operator, code)));
  endpoint
    .command("probe")
    .argument("<lender>", "the lender's code")
    .option("--reason <text>", "the reason, for the audit log", readReason)
    .description("Send a signed ping to the callback now; a 2xx ends its suspension.")
    .addHelpText(
      "after",
      "\nExits with 1 when the ping was not acknowledged.\n\nExample:\n  pnpm collections endpoint probe ACME",
    )
    .action((code: string, { reason }: { reason?: string }) =>
      withDatabase((operator) => probe(operator, code, reason)),
    );
  endpoint.addCommand(mintCommand());
  endpoint
    .command("resume")
    .argument("<lender>", "the lender's code")
    .requiredOption("--reason <text>", "the reason, for the audit log", readReason)
    .description("End the suspension of a callback without a ping. Waiting events are sent in order.")
    .addHelpText("after", '\nExample:\n  pnpm collections endpoint resume ACME --reason "their firewall refuses pings"')
    .action((code: string, { reason }: { reason: string }) =>
      withDatabase((operator) => resume(operator, code, reason)),
    );
  return endpoint;
}

async function show({ em }: Operator, code: string): Promise<void> {
  const { lender, status } = await endpointNamed(em(), code);
  const oldest = await oldestUndelivered(em(), lender.id);
  const failed = await lastFailedAttempt(em(), lender.id);
  answer(
    {
      lenderCode: lender.code,
      ...status,
      oldestWaiting: oldest ? shownEvent(oldest) : null,
      lastFailure: failed ? shownFailure(failed, status.url) : null,
    },
    [
      headline(status),
      table(factRows(status, oldest, lender)),
      ...(failed ? failureLines(failed, status.url, lender) : []),
    ].join("\n"),
  );
}

async function probe(operator: Operator, code: string, reason: string | undefined): Promise<void> {
  const { em, config } = operator;
  const lender = await lenderNamed(em(), code);
  const ping = (to: LenderProfile) =>
    withWebhookSender(operator, (sender) => testEndpoint(em(), sender, pingTo(to, config.environment)));
  const probed = await probeCallback({ em, ping }, lender, reason);
  if (!probed) throw notFound("endpoint", code);
  const { tested, words, status, recovered } = probed;
  const lines = pingLines(tested);
  answer(
    { lenderCode: lender.code, ...tested, ...words, recovered, endpoint: status },
    [
      ...lines.request,
      `${tested.delivered ? "Acknowledged" : "Not acknowledged"} after ${tested.durationMs} ms:`,
      ...lines.answer,
      ...(words ? [`Cause   ${words.cause}`, `Remedy  ${words.remedy}`] : []),
      recovered ? recoveredText(status) : headline(status),
    ].join("\n"),
  );
  if (!tested.delivered) process.exitCode = EXIT.refused;
}

async function resume({ em }: Operator, code: string, reason: string): Promise<void> {
  const { lender, status } = await endpointNamed(em(), code);
  if (status.state !== "suspended") {
    answer(
      { lenderCode: lender.code, resumed: false, state: status.state, waiting: status.waiting },
      `The endpoint of ${lender.code} was not suspended: nothing was changed.`,
    );
    return;
  }
  const { suspendedAt, waiting } = status;
  await transaction(em(), async (tx) =>
    recordAct(tx, { lenderId: lender.id, act: "endpoint.resumed", reason, data: { suspendedAt, waiting } }),
  );
  const resumed = await recoverEndpoint(em(), lender.id);
  answer(
    { lenderCode: lender.code, resumed, state: "active", waiting },
    `The endpoint of ${lender.code} is active: ${waiting} events are sent in order, slowly at first.`,
  );
}

async function endpointNamed(
  em: ReturnType<Operator["em"]>,
  code: string,
): Promise<{ lender: Lender; status: EndpointStatus }> {
  const lender = await lenderNamed(em, code);
  const status = await endpointOf(em, lender.id);
  if (!status) throw notFound("endpoint", code);
  return { lender, status };
}

function headline({ url, state, consecutiveFailures, waiting, parked }: EndpointStatus): string {
  const words = `${counted(consecutiveFailures, "failure")} in a row, ${counted(waiting, "event")} waiting, ${parked} parked`;
  return `${url ?? "no callback is registered"}\n${state}: ${words}.`;
}

function factRows(status: EndpointStatus, oldest: UndeliveredEvent | undefined, { timeZone }: Lender): string[][] {
  const shown = (at: Date | null) => at && momentText(at, timeZone);
  const { failingSince, suspendedAt, nextProbeAt, probedAt, probeError, recoveredAt } = status;
  const probed =
    probedAt && `${momentText(probedAt, timeZone)} ${probeError === null ? "passed" : onOneLine(probeError)}`;
  const waits =
    oldest &&
    `${publicId("evt", oldest.eventId)} ${oldest.kind} of ${oldest.stream}, sequence ${oldest.sequence}, since ${momentText(oldest.createdAt, timeZone)}`;
  const rows: [string, string | null | undefined][] = [
    ["failing since", shown(failingSince)],
    ["suspended since", shown(suspendedAt)],
    ["next probe", shown(nextProbeAt)],
    ["last probe", probed],
    ["recovered at", shown(recoveredAt)],
    ["oldest waiting", waits],
  ];
  return rows.map(([name, value]) => [name, value ?? "-"]);
}

function failureLines(failed: FailedAttempt, url: string | null, { timeZone }: Lender): string[] {
  const { cause, remedy } = wordsFor(failed, url);
  const what = failed.status === null ? failed.errorCode : `answered ${failed.status}`;
  return [
    `last failure    ${momentText(failed.startedAt, timeZone)} ${publicId("evt", failed.eventId)}, attempt ${failed.number}: ${what}`,
    `  cause         ${cause}`,
    `  remedy        ${remedy}`,
  ];
}

function shownEvent({ eventId, kind, stream: loan, sequence, state, createdAt }: UndeliveredEvent): object {
  return { eventId: publicId("evt", eventId), kind, sourceLoanNumber: loan, sequence, state, createdAt };
}

function shownFailure(failed: FailedAttempt, url: string | null): object {
  return { ...failed, eventId: publicId("evt", failed.eventId), ...wordsFor(failed, url) };
}
