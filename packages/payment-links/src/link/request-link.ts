import { newId, query, send, statement } from "@collections/database";
import type { Tx } from "@collections/entities";
import type { CurrencyCode } from "@collections/money";
import { type Channel, CHANNELS, insertLink, type PaymentLink } from "./payment-link.ts";

/**
 * How long a request for a link is valid. A second request for the same visit and amount within this time counts as a
 * repeat of the first. If a request is already older when its mint call is due, the call is not made.
 *
 * @example
 * const askedAt = link.askedAt ?? link.createdAt;
 * const isExpired = now.getTime() - askedAt.getTime() > LINK_REQUEST_LIFETIME_MS;
 */
export const LINK_REQUEST_LIFETIME_MS = 10 * 60_000;

/**
 * The maximum number of links of one case within 24 hours, so that the borrower is not flooded with messages. Links
 * that the lender did not provide do not count.
 *
 * @example
 * const detail = `A case takes ${MAX_LINKS_PER_CASE} links within 24 hours; try again tomorrow.`;
 */
export const MAX_LINKS_PER_CASE = 10;

const DAY_MS = 24 * 60 * 60_000;

/**
 * The case already has the maximum number of links within 24 hours.
 *
 * @example
 * try {
 *   await transaction(em, (tx) => requestLink(tx, linkRequest));
 * } catch (error) {
 *   if (!(error instanceof TooManyLinksError)) throw error;
 * }
 */
export class TooManyLinksError extends Error {
  override readonly name = "TooManyLinksError";
  readonly code = "TOO_MANY_LINKS";
}

/** A field partner's request for a link. The caller has checked that the case is workable and the amount is allowed. */
export interface LinkRequest {
  readonly lenderId: string;
  readonly caseId: string;
  readonly sourceLoanNumber: string;
  readonly visitId: string;
  readonly fieldPartnerId: string;
  readonly amountMinor: bigint;
  readonly currency: CurrencyCode;
  /** The channels to send the link over. Default: all; with an empty list the link is only shown on the phone. */
  readonly channels?: readonly Channel[];
  /** Whether the link was requested before the service knew the start of its visit. */
  readonly cameOutOfOrder?: boolean;
  /** When the field partner tapped. Default: now. A time in the future, from a phone's wrong clock, counts as now. */
  readonly askedAt?: Date | null;
}

/**
 * Writes a link in status `requested`. The caller holds the lock on the case, and enqueues the mint job in the same
 * transaction. If the same request is repeated within 10 minutes, the new link shares the mint key of the first, so
 * that the lender's gateway returns the same link again. `now` is a time of the database's clock (default: its current
 * time), because another process compares it with the current time to decide whether the request has expired. Throws
 * TooManyLinksError.
 *
 * @example
 * const loan = { lenderId, caseId, sourceLoanNumber: "LN-1001" };
 * const amount = { amountMinor: 250_000n, currency: currency("INR") };
 * const link = await requestLink(tx, { ...loan, ...amount, visitId, fieldPartnerId, channels: ["whatsapp"] });
 */
export async function requestLink(tx: Tx, request: LinkRequest, now?: Date): Promise<PaymentLink> {
  const earlier = await earlierLinks(tx, request, now);
  if (earlier.asked >= MAX_LINKS_PER_CASE) {
    throw new TooManyLinksError(
      `The case has ${earlier.asked} links from the last 24 hours; at most ${MAX_LINKS_PER_CASE} are allowed.`,
    );
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
    unavailableOwnFault: null,
    mintKey: earlier.mintKey ?? newId(),
    mintStartedAt: null,
    mintedAt: null,
    sentAt: null,
    unavailableAt: null,
    supersededAt: null,
    paidAt: null,
    reversedAt: null,
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
  /** The number of links of the case within the last 24 hours. Unavailable links do not count. */
  readonly asked: number;
  /** The mint key of the earlier request that this request repeats. Null if it repeats none. */
  readonly mintKey: string | null;
  readonly now: Date;
}

/**
 * Reads the number of earlier links and the mint key to share. If two requests for a visit arrive at once, the second
 * waits for the first and shares its mint key.
 */
async function earlierLinks(tx: Tx, request: LinkRequest, now?: Date): Promise<EarlierLinks> {
  const { lenderId, caseId, visitId, amountMinor, currency } = request;
  send(tx, lockVisit, [lenderId, visitId]);
  const values = [lenderId, caseId, visitId, amountMinor, currency, now ?? null];
  const [earlier] = await query<EarlierLinks>(tx, selectEarlier, values);
  return earlier!;
}

const lockVisit = statement(
  "payment-links.lock-visit",
  `select pg_advisory_xact_lock(hashtextextended('payment_links.visit/' || $1::uuid || '/' || $2::uuid, 0))`,
);

const NOW = "coalesce($6::timestamptz, now())";

// The mint key of a paid link is not used again: the gateway would return the paid link.
const selectEarlier = statement(
  "payment-links.earlier-links",
  `select count(*) filter (where l.status <> 'unavailable')::int as asked,
     (array_agg(l.mint_key order by l.id desc) filter (
       where l.visit_id = $3 and l.amount_minor = $4 and l.currency = $5
         and l.created_at >= ${NOW} - interval '${LINK_REQUEST_LIFETIME_MS} milliseconds'
         and not exists (select from payment_links.payment_link paid
           where paid.lender_id = $1 and paid.case_id = $2 and paid.mint_key = l.mint_key and paid.status = 'paid')
     ))[1] as "mintKey",
     ${NOW} as now
   from payment_links.payment_link l
   where l.lender_id = $1 and l.case_id = $2 and l.created_at >= ${NOW} - interval '${DAY_MS} milliseconds'`,
);
