import { newId, transaction } from "@collections/database";
import type { EntityManager, Tx } from "@collections/entities";
import { recordOperatorAct } from "./audit.ts";
import type { OperatorRole } from "./role.ts";
import { OperatorSessionEntity, SignInLinkEntity } from "./schema.ts";
import { looksLikeSession, randomToken, tokenHash } from "./token.ts";

/** An open session of an operator. */
export interface OperatorSession {
  readonly id: string;
  /** The operator's name. */
  readonly name: string;
  readonly roles: readonly OperatorRole[];
  /** The lender whose staff the person is, and to which the session is restricted; null for an operator. */
  readonly lenderId: string | null;
  readonly createdAt: Date;
  /** The time of a recent request, up to a minute before the last one. */
  readonly lastSeenAt: Date;
  readonly expiresAt: Date;
}

/** The number of sessions and of unused links that were revoked. */
export interface RevokedAccess {
  readonly sessions: number;
  readonly links: number;
}

interface NewSession {
  readonly operator: string;
  readonly roles: readonly OperatorRole[];
  readonly lenderId: string | null;
  /** The person at an OpenID Connect provider, for the audit. */
  readonly provider?: { readonly issuer: string; readonly subject: string };
}

const SESSION_TTL_MS = 12 * 60 * 60_000;
/** `lastSeenAt` is updated at most once in this time, so that most requests write nothing. */
const SEEN_STEP_MS = 60_000;
const MAX_SESSIONS_SHOWN = 1_000;

/** Starts a session. Returns its token, which is not stored, and the session. */
export function startOperatorSession(
  tx: Tx,
  { operator, roles, lenderId, provider }: NewSession,
  now: Date,
): { token: string; session: OperatorSession } {
  const token = randomToken(lenderId === null ? "ops" : "pps");
  const expiresAt = new Date(now.getTime() + SESSION_TTL_MS);
  const row = {
    id: newId(),
    tokenHash: tokenHash(token),
    operator,
    roles: [...roles],
    lenderId,
    createdAt: now,
    lastSeenAt: now,
    expiresAt,
    endedAt: null,
  };
  tx.create(OperatorSessionEntity, row);
  const data = { sessionId: row.id, ...(lenderId === null ? { roles } : { lenderId }), ...provider };
  recordOperatorAct(tx, { operator, act: "operator.signed_in", data, actor: `operator:${operator}` }, now);
  return { token, session: sessionOf(row) };
}

/**
 * Returns the session of a token, or undefined if the token is unknown, or if the session has ended or expired. Records at
 * most once a minute that the session was used.
 *
 * @example
 * const operator = await signedInOperator(em, token, now);
 * const mayPayOut = operator?.roles.includes("money") ?? false;
 */
export async function signedInOperator(
  em: EntityManager,
  token: string,
  now: Date,
): Promise<OperatorSession | undefined> {
  if (!looksLikeSession(token)) return undefined;
  const isOpen = { tokenHash: tokenHash(token), endedAt: null, expiresAt: { $gt: now } };
  const row = await em.findOne(OperatorSessionEntity, isOpen, { disableIdentityMap: true });
  if (row === null) return undefined;
  const { id, lastSeenAt } = row;
  const staleSince = new Date(now.getTime() - SEEN_STEP_MS);
  if (lastSeenAt <= staleSince) {
    await transaction(em, (tx) =>
      tx.nativeUpdate(OperatorSessionEntity, { id, lastSeenAt: { $lte: staleSince } }, { lastSeenAt: now }),
    );
  }
  return sessionOf(row);
}

/**
 * Returns all open sessions, newest first, at most 1,000.
 *
 * @example
 * const names = (await openOperatorSessions(em, now)).map(({ name }) => name);
 */
export async function openOperatorSessions(em: EntityManager, now: Date): Promise<OperatorSession[]> {
  const isOpen = { endedAt: null, expiresAt: { $gt: now } };
  const newestFirst = { orderBy: { id: "desc" }, limit: MAX_SESSIONS_SHOWN, disableIdentityMap: true } as const;
  return (await em.find(OperatorSessionEntity, isOpen, newestFirst)).map(sessionOf);
}

/**
 * Ends the session of a token because the operator signs out. Does nothing if the session has already ended.
 *
 * @example
 * await transaction(em, (tx) => endOperatorSession(tx, token, now));
 */
export async function endOperatorSession(tx: Tx, token: string, now: Date): Promise<void> {
  const hash = tokenHash(token);
  const ended = await tx.nativeUpdate(OperatorSessionEntity, { tokenHash: hash, endedAt: null }, { endedAt: now });
  if (ended === 0) return;
  const { id, operator } = await tx.findOneOrFail(OperatorSessionEntity, { tokenHash: hash });
  const data = { sessionId: id };
  recordOperatorAct(tx, { operator, act: "operator.signed_out", data, actor: `operator:${operator}` }, now);
}

/**
 * Ends an operator's open sessions and unused links, or with `sessionId` only that session. Returns how many there were. The
 * audit records the act if there was anything to end.
 *
 * @example
 * const { sessions, links } = await revokeOperator(tx, { name: "Asha", reason: "Left the team" }, now);
 */
export async function revokeOperator(
  tx: Tx,
  { name, sessionId, reason }: { name: string; sessionId?: string | undefined; reason?: string | undefined },
  now: Date,
): Promise<RevokedAccess> {
  const isOpen = { operator: name, endedAt: null, expiresAt: { $gt: now } };
  const theirs = sessionId === undefined ? isOpen : { ...isOpen, id: sessionId };
  // Links first: a concurrent sign-in holds the row of its link until it has committed its session.
  const unused = { operator: name, usedAt: null, revokedAt: null, expiresAt: { $gt: now } };
  const links = sessionId === undefined ? await tx.nativeUpdate(SignInLinkEntity, unused, { revokedAt: now }) : 0;
  const sessions = await tx.nativeUpdate(OperatorSessionEntity, theirs, { endedAt: now });
  if (sessions + links > 0) {
    const data = { sessions, links, ...(sessionId !== undefined && { sessionId }) };
    recordOperatorAct(tx, { operator: name, act: "operator.revoked", reason, data }, now);
  }
  return { sessions, links };
}

function sessionOf(row: {
  id: string;
  operator: string;
  roles: OperatorRole[];
  lenderId: string | null;
  createdAt: Date;
  lastSeenAt: Date;
  expiresAt: Date;
}): OperatorSession {
  const { id, operator: name, roles, lenderId, createdAt, lastSeenAt, expiresAt } = row;
  return { id, name, roles, lenderId, createdAt, lastSeenAt, expiresAt };
}
