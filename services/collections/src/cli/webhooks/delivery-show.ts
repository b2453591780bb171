import { publicId } from "@collections/database";
import { onOneLine } from "@collections/flows";
import { type Lender, listLenders } from "@collections/lenders";
import {
  deliveryById,
  type DeliveryDetail,
  type LoggedAttempt,
  type SentRequest,
  signedRequest,
} from "@collections/webhooks";
import { Command } from "commander";
import { NoSigningKeyError } from "../../worker/callbacks.ts";
import { momentText } from "../terminal/local-time.ts";
import { shownDelivery } from "../../desk/shown-delivery.ts";
import { wordsFor } from "../../desk/failure-words.ts";
import { answerLines } from "../../desk/connection/answer-lines.ts";
import { curlLine } from "./curl-line.ts";
import { notFound } from "../terminal/refusal.ts";
import { withWebhookSender } from "./with-webhook-sender.ts";
import { answer, idOf, type Operator, withDatabase } from "../terminal/with-database.ts";

/** How long a receiver accepts a signature (contract: Limits, timestamp window). */
const VALID_FOR_MS = 300_000;

export function showCommand(): Command {
  return new Command("show")
    .argument("<event-id>", "evt_…")
    .description("Show a delivery: the request, every attempt with cause and remedy, and a curl line that sends it.")
    .addHelpText(
      "after",
      `
The curl line is signed now and valid for five minutes. It sends the event without the service: the receiver gets it, but the
service neither records nor counts it. To have the service send the event, use delivery replay.

Example:
  pnpm collections delivery show evt_0192…`,
    )
    .action((eventId: string) => withDatabase((operator) => show(operator, eventId)));
}

/** Finds an event's delivery and its lender. The event id does not name the lender, so all lenders are searched. */
export async function deliveryNamed(
  em: Operator["em"],
  given: string,
): Promise<{ lender: Lender; delivery: DeliveryDetail }> {
  const eventId = idOf("evt", "event", given);
  for (const lender of await listLenders(em())) {
    const delivery = await deliveryById(em(), lender.id, eventId, new Date());
    if (delivery) return { lender, delivery };
  }
  throw notFound("event", given);
}

async function show(operator: Operator, given: string): Promise<void> {
  const { lender, delivery } = await deliveryNamed(operator.em, given);
  const signedAt = new Date();
  const request = await requestOf(operator, delivery);
  const goodUntil = new Date(signedAt.getTime() + VALID_FOR_MS);
  const curl = typeof request === "string" ? null : curlLine(request);
  answer(
    {
      ...shownDelivery(delivery, lender.code),
      occurredAt: delivery.occurredAt,
      url: delivery.url,
      body: JSON.parse(delivery.body) as unknown,
      request: typeof request === "string" ? null : { method: "POST", ...request },
      curl: curl && { line: curl, goodUntil },
      log: delivery.log.map((attempt) => ({ ...attempt, ...failureWords(attempt, delivery.url) })),
    },
    [
      ...headLines(delivery, lender),
      "",
      ...requestLines(request, delivery.body),
      ...delivery.log.flatMap((attempt) => ["", ...attemptLines(attempt, delivery.url, lender)]),
      ...(curl === null
        ? []
        : ["", `To send it again without the service, until ${momentText(goodUntil, lender.timeZone)}:`, curl]),
    ].join("\n"),
  );
}

/**
 * Returns the request of the next attempt, or of the last attempt if there is no next one. If there is no such request,
 * returns a sentence that says why.
 */
async function requestOf(operator: Operator, delivery: DeliveryDetail): Promise<SentRequest | string> {
  const { tenantId: lenderId, eventId, kind, body, url, replay, state, attempts } = delivery;
  if (url === null) return "No callback is registered, so there is no URL to send the event to.";
  const isSettled = state === "delivered" || state === "parked";
  const number = Math.max(attempts + (isSettled ? 0 : 1), 1);
  try {
    return await withWebhookSender(operator, (sender) =>
      signedRequest(sender, { tenantId: lenderId, url, eventId, kind, number, body, replay }),
    );
  } catch (error) {
    if (error instanceof NoSigningKeyError) return error.message;
    throw error;
  }
}

function headLines(delivery: DeliveryDetail, { code: lenderCode, timeZone }: Lender): string[] {
  const { eventId, kind, stream: loan, sequence, state, nextAttemptAt, replay, createdAt, settledAt } = delivery;
  const when = settledAt ?? nextAttemptAt;
  return [
    `${publicId("evt", eventId)}: ${kind} of ${lenderCode} ${loan}, sequence ${sequence}, made ${momentText(createdAt, timeZone)}`,
    `${state}${when ? ` ${momentText(when, timeZone)}` : ""}${replay ? ", sent again" : ""}`,
  ];
}

function requestLines(request: SentRequest | string, body: string): string[] {
  if (typeof request === "string") return [request, "", body];
  const headers = Object.entries(request.headers).map(([name, value]) => `${name}: ${value}`);
  return [`POST ${request.url}`, ...headers, "", body];
}

function attemptLines(attempt: LoggedAttempt, url: string | null, { timeZone }: Lender): string[] {
  const { number, startedAt, durationMs, outcome, status, headers, body, errorDetail, replay } = attempt;
  const words = failureWords(attempt, url);
  return [
    `#${number} ${momentText(startedAt, timeZone)} ${outcome} after ${durationMs} ms${replay ? ", a replay" : ""}`,
    ...(status === null ? [`  ${onOneLine(errorDetail ?? "")}`] : answerLines(status, headers, body ?? "")),
    ...(words ? [`  cause   ${words.cause}`, `  remedy  ${words.remedy}`] : []),
  ];
}

function failureWords(attempt: LoggedAttempt, url: string | null) {
  const { errorCode, errorDetail, status, headers } = attempt;
  return errorCode === null ? undefined : wordsFor({ errorCode, errorDetail, status, headers }, url);
}
