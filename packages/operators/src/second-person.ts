import { newId } from "@collections/database";
import type { EntityManager, Tx } from "@collections/entities";
import { recordOperatorAct } from "./audit.ts";
import { SecondPersonRequestEntity } from "./schema.ts";

/** A change that waits for a second operator, or was decided. */
export interface SecondPersonRequest {
  readonly id: string;
  /** The change, as `requestSecondPerson` got it. */
  readonly change: Readonly<Record<string, unknown>>;
  readonly requestedBy: string;
  readonly requestedAt: Date;
  readonly expiresAt: Date;
  /** The operator who has confirmed or declined the change; null if nobody has. */
  readonly decidedBy: string | null;
  readonly decidedAt: Date | null;
  readonly isConfirmed: boolean | null;
}

/** A decision about a change. */
export interface SecondPersonDecision {
  readonly id: string;
  /** The name of the operator who decides. */
  readonly by: string;
  readonly isConfirmed: boolean;
}

const REQUEST_TTL_MS = 24 * 60 * 60_000;
const MAX_REQUESTS_SHOWN = 200;

/**
 * Records a change that a second operator has to confirm within 24 hours. `change` must be JSON without personal data: the
 * audit keeps it. Returns the id of the request.
 *
 * @example
 * const change = { kind: "payout", amount: "125000.00" };
 * const { id } = await requestSecondPerson(tx, { requestedBy: "Asha", change }, now);
 */
export async function requestSecondPerson(
  tx: Tx,
  { requestedBy, change }: Pick<SecondPersonRequest, "requestedBy" | "change">,
  now: Date,
): Promise<{ id: string; expiresAt: Date }> {
  const id = newId();
  const expiresAt = new Date(now.getTime() + REQUEST_TTL_MS);
  const undecided = { decidedBy: null, decidedAt: null, isConfirmed: null };
  tx.create(SecondPersonRequestEntity, { id, change, requestedBy, requestedAt: now, expiresAt, ...undecided });
  const data = { requestId: id, change };
  recordOperatorAct(
    tx,
    { operator: requestedBy, act: "operator.change_requested", data, actor: `operator:${requestedBy}` },
    now,
  );
  await tx.flush();
  return { id, expiresAt };
}

/**
 * Returns the request with an id, decided or not, or undefined.
 *
 * @example
 * const isOpen = (await secondPersonRequest(em, requestId))?.decidedAt === null;
 */
export async function secondPersonRequest(em: EntityManager, id: string): Promise<SecondPersonRequest | undefined> {
  return (await em.findOne(SecondPersonRequestEntity, { id }, { disableIdentityMap: true })) ?? undefined;
}

/**
 * Returns the requests that wait for a second operator, newest first, at most 200.
 *
 * @example
 * const requesters = (await waitingSecondPersonRequests(em, now)).map(({ requestedBy }) => requestedBy);
 */
export async function waitingSecondPersonRequests(em: EntityManager, now: Date): Promise<SecondPersonRequest[]> {
  const newestFirst = { orderBy: { id: "desc" }, limit: MAX_REQUESTS_SHOWN, disableIdentityMap: true } as const;
  return em.find(SecondPersonRequestEntity, { decidedAt: null, expiresAt: { $gt: now } }, newestFirst);
}

/**
 * Confirms or declines a request once. Returns the request, or undefined if it is unknown, expired or decided, or if the
 * operator who asked for the change confirms it. The requester may decline it. Confirm in the transaction that makes the
 * change: neither is then left without the other.
 *
 * @example
 * const decision = { id: requestId, by: "Ravi", isConfirmed: true };
 * const confirmed = await transaction(em, (tx) => decideSecondPersonRequest(tx, decision, now));
 */
export async function decideSecondPersonRequest(
  tx: Tx,
  { id, by, isConfirmed }: SecondPersonDecision,
  now: Date,
): Promise<SecondPersonRequest | undefined> {
  const request = await secondPersonRequest(tx, id);
  if (!request || (isConfirmed && isSameOperator(request.requestedBy, by))) return undefined;
  const decision = { decidedBy: by, decidedAt: now, isConfirmed };
  // A concurrent decision waits here for the row. It then sees `decidedAt` and updates nothing.
  const open = { id, decidedAt: null, expiresAt: { $gt: now } };
  if ((await tx.nativeUpdate(SecondPersonRequestEntity, open, decision)) === 0) return undefined;
  const act = isConfirmed ? "operator.change_confirmed" : "operator.change_declined";
  const { requestedBy, change } = request;
  const data = { requestId: id, requestedBy, change };
  recordOperatorAct(tx, { operator: requestedBy, act, data, actor: `operator:${by}` }, now);
  return { ...request, ...decision };
}

/**
 * Returns whether two names are of the same operator. Letters in upper and lower case do not make two people.
 *
 * @example
 * const isOwn = isSameOperator("Asha", "asha"); // true
 */
export function isSameOperator(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}
