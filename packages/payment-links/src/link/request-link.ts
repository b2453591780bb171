import { newId, query, send, statement, type Tx } from "@collections/database";
import type { CurrencyCode } from "@collections/money";
import { type Channel, CHANNELS, insertLink, type PaymentLink } from "./payment-link.ts";

/**
 * So long somebody waits for a link: a second request for the same visit and amount within it is the same wish, and one
 * that nobody has come to is not asked for any more.
 *
 * @example
 * const askedAt = link.askedAt ?? link.createdAt;
 * const isStillWaitedFor = now.getTime() - askedAt.getTime() < WISH_LASTS_MS;
 */
export const WISH_LASTS_MS = 10 * 60_000;

/**
 * Links of one case within 24 hours, those not counted that the lender did not give: more would be a nuisance.
 *
 * @example
 * const detail = `A case takes ${MAX_LINKS_PER_CASE} links within 24 hours; try again tomorrow.`;
 */
export const MAX_LINKS_PER_CASE = 10;

const DAY_MS = 24 * 60 * 60_000;

/**
 * The case has as many links as it may have within a day.
 *
 * @example
 * try {
 *   await transaction(em, (tx) => requestLink(tx, wish));
 * } catch (error) {
 *   if (!(error instanceof TooManyLinksError)) throw error;
 * }
 */
export class TooManyLinksError extends Error {
  override readonly name = "TooManyLinksError";
  readonly code = "TOO_MANY_LINKS";
}

/** What a field partner asks for. The caller has checked that the case may be worked and the amount asked. */
export interface LinkRequest {
  readonly lenderId: string;
  readonly caseId: string;
  readonly sourceLoanNumber: string;
  readonly visitId: string;
  readonly fieldPartnerId: string;
  readonly amountMinor: bigint;
  readonly currency: CurrencyCode;
  /** Where to send it. Default: every channel; an empty list only shows it. */
  readonly channels?: readonly Channel[];
  /** Whether it was asked for before the service had heard of its visit's start. */
  readonly cameOutOfOrder?: boolean;
  /** When somebody tapped; now unless told, and never later: a phone's clock that is ahead makes no wish younger. */
  readonly askedAt?: Date | null;
}

/**
 * Writes a link in status `requested`; enqueue its mint job in the same transaction. A repeat within 10 minutes makes
 * a link of its own that shares the mint key, so that the lender's gateway gives the same link again. Hold the lock on the
 * case before. `now` is by the database's clock, and its own unless told: another process judges by that how old the
 * wish is. Throws TooManyLinksError.
 *
 * @example
 * const loan = { lenderId, caseId, sourceLoanNumber: "LN-1001" };
 * const amount = { amountMinor: 250_000n, currency: currency("INR") };
 * const link = await requestLink(tx, { ...loan, ...amount, visitId, fieldPartnerId, channels: ["whatsapp"] });
 */
export async function requestLink(tx: Tx, request: LinkRequest, now?: Date): Promise<PaymentLink> {
  const earlier = await earlierLinks(tx, request, now);
  if (earlier.asked >= MAX_LINKS_PER_CASE) {
    throw new TooManyLinksError(`The case has ${earlier.asked} links of the last 24 hours.`);
  }
  const link: PaymentLink = {
    lenderId: request.lenderId,
    id: newId(),
    caseId: request.caseId,
    sourceLoanNumber: request.sourceLoanNumber,
    visitId: request.visitId,
    fieldPartnerId: request.fieldPartnerId,
    amountMinor: request.amountMinor,
    currency: request.currency,
    status: "requested",
    linkId: null,
    url: null,
    unavailableReason: null,
    unavailableDetail: null,
    mintKey: earlier.mintKey ?? newId(),
    mintStartedAt: null,
    mintedAt: null,
    sentAt: null,
    unavailableAt: null,
    supersededAt: null,
    paidAt: null,
    channels: [...new Set(request.channels ?? CHANNELS)],
    cameOutOfOrder: request.cameOutOfOrder ?? false,
    askedAt: request.askedAt && request.askedAt < earlier.now ? request.askedAt : earlier.now,
    createdAt: earlier.now,
    updatedAt: earlier.now,
  };
  insertLink(tx, link);
  return link;
}

interface EarlierLinks {
  /** Of the case, within a day. */
  readonly asked: number;
  /** Of the same wish. */
  readonly mintKey: string | null;
  readonly now: Date;
}

/** Two taps at once agree on one key: the second waits until the first is committed. */
async function earlierLinks(tx: Tx, request: LinkRequest, now?: Date): Promise<EarlierLinks> {
  const { lenderId, caseId, visitId, amountMinor, currency } = request;
  send(tx, lockVisit, [lenderId, visitId]);
  const wish = [lenderId, caseId, visitId, amountMinor, currency];
  const [earlier] = await query<EarlierLinks>(tx, selectEarlier, [...wish, now ?? null]);
  return earlier!;
}

const lockVisit = statement(
  "payment-links.lock-visit",
  `select pg_advisory_xact_lock(hashtextextended('payment_links.visit/' || $1::uuid || '/' || $2::uuid, 0))`,
);

const NOW = "coalesce($6::timestamptz, now())";

// A key whose link has been paid would bring that same paid link back, so it is not used again.
const selectEarlier = statement(
  "payment-links.earlier-links",
  `select count(*) filter (where l.status <> 'unavailable')::int as asked,
     (array_agg(l.mint_key order by l.id desc) filter (
       where l.visit_id = $3 and l.amount_minor = $4 and l.currency = $5
         and l.created_at >= ${NOW} - interval '${WISH_LASTS_MS} milliseconds'
         and not exists (select from payment_links.payment_link paid
           where paid.lender_id = $1 and paid.case_id = $2 and paid.mint_key = l.mint_key and paid.status = 'paid')
     ))[1] as "mintKey",
     ${NOW} as now
   from payment_links.payment_link l
   where l.lender_id = $1 and l.case_id = $2 and l.created_at >= ${NOW} - interval '${DAY_MS} milliseconds'`,
);
