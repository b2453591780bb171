import { hasPayment } from "@collections/bookings";
import { publicId } from "@collections/database";
import type { EntityManager } from "@collections/entities";
import { keysOf, type Lender, lenderByCode, listLenders } from "@collections/lenders";
import { timeIn } from "@collections/local-time";
import { currency, percentText } from "@collections/money";
import { fallbackFor, hasMintedLink } from "@collections/payment-links";
import { endpointWithLastFailure, listDeliveries } from "@collections/webhooks";
import { hasUsed } from "@collections/request-log";
import { wordsFor } from "./failure-words.ts";
import { listedDelivery } from "./deliveries.ts";

const PAGE_SIZE = 50;
const DELIVERIES = 20;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Returns a page of the lenders by code. `next` is the last code of the page; null on the last page. */
export async function pageOfLenders(em: EntityManager, after: string | undefined) {
  const all = (await listLenders(em)).filter(({ code }) => after === undefined || code > after);
  const listed = all.slice(0, PAGE_SIZE);
  return {
    lenders: listed.map(({ code, name, state, currency: money, timeZone, commission }) => ({
      lenderCode: code,
      name,
      state,
      currency: money,
      timeZone,
      commissionPercent: percentText(commission),
    })),
    next: all.length > PAGE_SIZE ? listed.at(-1)!.code : null,
  };
}

/**
 * Returns a lender with its onboarding, its callback and a page of its deliveries that begins before the event `before`.
 * Undefined if there is no such lender.
 */
export async function lenderOf(em: EntityManager, code: string, before: string | undefined) {
  if (!/^[A-Z0-9]{2,16}$/.test(code)) return undefined;
  const lender = await lenderByCode(em, code);
  if (!lender) return undefined;
  const keys = await keysOf(em, lender.id);
  const endpoint = await endpointWithLastFailure(em, lender.id);
  const failed = endpoint?.lastFailure;
  const from = before !== undefined && UUID.test(before) ? { cursor: before } : {};
  const page = await listDeliveries(em, { tenantId: lender.id, limit: DELIVERIES, ...from }, new Date());
  const hasMinted = await hasMintedLink(em, lender.id);
  const isHealthCalled = await hasUsed(em, lender.id, "health");
  const isPaid = await hasPayment(em, lender.id);
  const local = (at: Date | null) => at && timeIn(lender.timeZone, at);
  const isVerified =
    (endpoint?.probedAt && endpoint.probeError === null) || page.deliveries.some(({ state }) => state === "delivered");
  return {
    lenderCode: lender.code,
    name: lender.name,
    state: lender.state,
    timeZone: lender.timeZone,
    onboarding: [
      { step: "A key was used", isDone: keys.some(({ lastUsedAt }) => lastUsedAt !== null) },
      { step: "The health call was answered", isDone: isHealthCalled },
      { step: "The callback has acknowledged an event or a ping", isDone: isVerified },
      { step: "A payment link was minted", isDone: hasMinted },
      { step: "A payment was booked", isDone: isPaid },
    ],
    facts: factsOf(lender),
    endpoint: endpoint && {
      url: endpoint.url,
      state: endpoint.url === null ? "no callback" : endpoint.state,
      consecutiveFailures: endpoint.consecutiveFailures,
      waiting: endpoint.waiting,
      parked: endpoint.parked,
      failingSince: local(endpoint.failingSince),
      suspendedAt: local(endpoint.suspendedAt),
      nextProbeAt: local(endpoint.nextProbeAt),
    },
    lastFailure: failed && {
      at: local(failed.startedAt)!,
      eventId: publicId("evt", failed.eventId),
      what: failed.status === null ? failed.errorCode : `answered ${failed.status}`,
      ...wordsFor(failed, endpoint?.url ?? null),
    },
    deliveries: page.deliveries.map((delivery) => listedDelivery(lender, delivery)),
    next: page.nextCursor,
    fallback: fallbackOf(lender),
  };
}

function factsOf(lender: Lender): [name: string, value: string][] {
  return [
    ["Currency", lender.currency],
    ["Commission", `${percentText(lender.commission)} %`],
    ["Mint URL", lender.mintLinkUrl ?? "None"],
    ["Technical contacts", lender.technicalContacts.join(", ") || "None"],
    ["Personal data", `Erased ${lender.keepPersonalDataDays} days after the end of a case`],
  ];
}

/** Returns how borrowers pay without a link. The code is the path of an SVG image; its width and height are `modules`. */
function fallbackOf({ name, currency: money, fallback: { upiId, bank, instructions } }: Lender) {
  const details = { upiId, bankAccount: bank, instructions, payeeName: name };
  const { qrSvg } = fallbackFor(details, { currency: currency(money), note: "" });
  const [, modules] = /viewBox="0 0 (\d+) /.exec(qrSvg ?? "") ?? [];
  const [, path] = /<path[^>]* d="([^"]+)"/.exec(qrSvg ?? "") ?? [];
  return {
    upiId,
    bank: bank && Object.values(bank).join(", "),
    instructions,
    code: modules === undefined || path === undefined ? null : { modules: Number(modules), path },
  };
}
