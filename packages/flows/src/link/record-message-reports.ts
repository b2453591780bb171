import { lockCurrentCases, type LockedCase } from "@collections/cases";
import { signal, transaction } from "@collections/database";
import type { Tx } from "@collections/entities";
import { lenderById } from "@collections/lenders";
import {
  type RecordedDelivery,
  forgetHeldReports,
  heldReports,
  holdReports,
  isNews,
  type MessageReport,
  type SentMessage,
  messagesOfDeliveries,
  messagesSent,
  recordDeliveries,
} from "@collections/payment-links";
import type { EventOrigin } from "../case/event.ts";
import type { LinkDeps } from "./link-jobs.ts";
import { type LoanEventData, recordLoanEvents } from "../case/lock-loan.ts";
import { PAYMENT_LINK_CHANNEL } from "./payment-link-channel.ts";

type ReportDeps = Pick<LinkDeps, "database" | "environment">;

/** The number of reports in one transaction. It is small, so that confirmations rarely wait for the locked cases. */
const REPORTS_AT_A_TIME = 100;

/**
 * Records a channel's reports about messages of a lender. The reports may come in any order and repeatedly, and may be
 * about messages that this service did not send. Each message keeps the highest status that was reported for it, and
 * the subscribers of its link are signalled. contract: Event kinds (payment_link.delivered, payment_link.undelivered)
 *
 * @example
 * const reports = [{ providerMessageId: "wamid.HBgMOTE5ODAwMDAwMDAx", status: "read" as const }];
 * await recordMessageReports({ database, environment: "live" }, lender.id, reports);
 */
export async function recordMessageReports(
  deps: Pick<LinkDeps, "database" | "environment">,
  lenderId: string,
  reports: readonly MessageReport[],
): Promise<void> {
  const unknown = await recordKnown(deps, lenderId, reports);
  if (unknown.length === 0) return;

  // A report can arrive before its message's id is stored. So the report is stored first, and then the messages are
  // read again. Either this second read finds the message, or the job that stores the id finds the report.
  await transaction(deps.database.em(), async (tx) => holdReports(tx, lenderId, unknown, new Date()));
  await apply(deps, lenderId, unknown);
}

/**
 * Applies the held reports about these messages, which arrived before the ids of the messages were stored. Reports
 * whose message is still unknown stay held.
 */
export async function applyHeldReports(
  deps: ReportDeps,
  lenderId: string,
  messageIds: readonly string[],
): Promise<void> {
  await apply(deps, lenderId, await heldReports(deps.database.em(), lenderId, messageIds));
}

async function apply(deps: ReportDeps, lenderId: string, reports: readonly MessageReport[]): Promise<void> {
  if (reports.length === 0) return;
  const unknown = new Set(await recordKnown(deps, lenderId, reports));
  const applied = reports.filter((report) => !unknown.has(report)).map(({ providerMessageId }) => providerMessageId);
  if (applied.length === 0) return;
  await transaction(deps.database.em(), async (tx) => forgetHeldReports(tx, lenderId, applied));
}

/**
 * Records the reports whose message is known, and returns the others. Reports that change nothing cost only one read.
 */
async function recordKnown(
  deps: ReportDeps,
  lenderId: string,
  reports: readonly MessageReport[],
): Promise<MessageReport[]> {
  const messages = await messagesOf(deps, lenderId, reports);
  const news = bestOf(reports).flatMap((report) => {
    const message = messages.get(report.providerMessageId);
    return message && isNews(message, report) ? [{ message, report }] : [];
  });
  for (let start = 0; start < news.length; start += REPORTS_AT_A_TIME) {
    const some = news.slice(start, start + REPORTS_AT_A_TIME);
    await transaction(deps.database.em(), (tx) => record(tx, lenderId, some, deps.environment));
  }
  return reports.filter(({ providerMessageId }) => !messages.has(providerMessageId));
}

/**
 * Returns the messages that the reports are about, by the channel's message id. A message is found by its stored
 * message id, or by the delivery id in the report.
 */
async function messagesOf(
  { database }: ReportDeps,
  lenderId: string,
  reports: readonly MessageReport[],
): Promise<Map<string, SentMessage>> {
  const ids = [...new Set(reports.map(({ providerMessageId }) => providerMessageId))];
  const found = await messagesSent(database.em(), lenderId, ids);
  const messages = new Map(found.map((message) => [message.providerMessageId!, message]));
  const others = reports.filter(({ providerMessageId }) => !messages.has(providerMessageId));
  const deliveryIds = others.flatMap(({ deliveryId }) => deliveryId ?? []);
  const ofDeliveries = await messagesOfDeliveries(database.em(), lenderId, deliveryIds);
  const byId = new Map(ofDeliveries.map((message) => [message.id, message]));
  for (const { providerMessageId, deliveryId } of others) {
    const message = deliveryId === undefined ? undefined : byId.get(deliveryId);
    if (message) messages.set(providerMessageId, message);
  }
  return messages;
}

interface News {
  readonly message: SentMessage;
  readonly report: MessageReport;
}

async function record(tx: Tx, lenderId: string, news: readonly News[], environment: string): Promise<void> {
  const now = new Date();

  // Lock the cases before their links, as all transactions do.
  const loans = news.map(({ message }) => ({ lenderId, loan: message.sourceLoanNumber }));
  const cases = new Map((await lockCurrentCases(tx, loans)).map((current) => [current.sourceLoanNumber, current]));
  const reports = news.map(({ message: { id }, report }) => ({ lenderId, id, ...report }));
  const recorded = await recordDeliveries(tx, lenderId, reports, now);
  for (const linkId of new Set(recorded.map(({ link }) => link.id))) signal(tx, PAYMENT_LINK_CHANNEL, linkId);

  // Emit an event for each link that became sent or undelivered.
  const changed = recorded.filter(({ became }) => became !== null);
  if (changed.length === 0) return;
  const { code } = (await lenderById(tx, lenderId))!;
  const origin = { lenderCode: code, environment, now };
  for (const [loan, ofLoan] of Map.groupBy(changed, ({ link }) => link.sourceLoanNumber)) {
    await emitChanges(tx, cases.get(loan)!, ofLoan, origin);
  }
}

async function emitChanges(
  tx: Tx,
  current: LockedCase,
  recorded: readonly RecordedDelivery[],
  origin: EventOrigin,
): Promise<void> {
  const eventData = recorded.map(({ link, delivery, became, channels }): LoanEventData =>
    became === "sent"
      ? { kind: "payment_link.delivered", data: { linkId: link.linkId, channels: [delivery.channel] } }
      : { kind: "payment_link.undelivered", data: { linkId: link.linkId, channels } },
  );
  await recordLoanEvents(tx, { worked: current, current }, { caseAfter: current, eventData }, origin);
}

/** Returns, for each message, the report with the highest status. */
function bestOf(reports: readonly MessageReport[]): MessageReport[] {
  const best = new Map<string, MessageReport>();
  for (const report of reports) {
    const known = best.get(report.providerMessageId);
    if (!known || isNews(known, report)) best.set(report.providerMessageId, report);
  }
  return [...best.values()];
}
