import { lockCurrentCases, type LockedCase } from "@collections/cases";
import { signal, transaction, type Tx } from "@collections/database";
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

/** So few cases are locked at a time that a confirmation hardly waits for them. */
const REPORTS_AT_A_TIME = 100;

/**
 * Records what a channel tells of a lender's messages: in any order, as often as it likes, also of messages that are
 * not ours. Of each message the best status stays, and its link's watchers hear of it.
 * contract: Event kinds (payment_link.delivered, payment_link.undelivered)
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

  // A report can be faster than the writing down of its message's id: held before the second look, it is found by one
  // of the two.
  await transaction(deps.database.em(), async (tx) => holdReports(tx, lenderId, unknown, new Date()));
  await settle(deps, lenderId, unknown);
}

/** Records what is held of these messages, as far as they are known by now. */
export async function settleHeldReports(
  deps: ReportDeps,
  lenderId: string,
  messageIds: readonly string[],
): Promise<void> {
  await settle(deps, lenderId, await heldReports(deps.database.em(), lenderId, messageIds));
}

async function settle(deps: ReportDeps, lenderId: string, reports: readonly MessageReport[]): Promise<void> {
  if (reports.length === 0) return;
  const unknown = new Set(await recordKnown(deps, lenderId, reports));
  const settled = reports.filter((report) => !unknown.has(report)).map(({ providerMessageId }) => providerMessageId);
  if (settled.length === 0) return;
  await transaction(deps.database.em(), async (tx) => forgetHeldReports(tx, lenderId, settled));
}

/** Records those whose message is known and returns the others. What brings no news takes one read. */
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

/** The messages by the channel's id of them: as written down, else as the report says whose it is. */
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

  // The cases before their links: everybody locks in this order.
  const loans = news.map(({ message }) => ({ lenderId, loan: message.sourceLoanNumber }));
  const cases = new Map((await lockCurrentCases(tx, loans)).map((current) => [current.sourceLoanNumber, current]));
  const reports = news.map(({ message: { id }, report }) => ({ lenderId, id, ...report }));
  const recorded = await recordDeliveries(tx, lenderId, reports, now);
  for (const linkId of new Set(recorded.map(({ link }) => link.id))) signal(tx, PAYMENT_LINK_CHANNEL, linkId);

  // The first message that arrives, or the last one that does not, decides for its link: tell the lender.
  const told = recorded.filter(({ became }) => became !== null);
  if (told.length === 0) return;
  const { code } = (await lenderById(tx, lenderId))!;
  const origin = { lenderCode: code, environment, now };
  for (const [loan, ofLoan] of Map.groupBy(told, ({ link }) => link.sourceLoanNumber)) {
    await tell(tx, cases.get(loan)!, ofLoan, origin);
  }
}

async function tell(
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

/** Of what is told of one message at once, the best. */
function bestOf(reports: readonly MessageReport[]): MessageReport[] {
  const best = new Map<string, MessageReport>();
  for (const report of reports) {
    const known = best.get(report.providerMessageId);
    if (!known || isNews(known, report)) best.set(report.providerMessageId, report);
  }
  return [...best.values()];
}
