import { newId, query, statement } from "@collections/database";
import type { EntityManager, Tx } from "@collections/entities";
import { recordOperatorAct } from "./audit.ts";
import { linkedOperatorName, linkName } from "./operator-name.ts";
import { knownRoles, type OperatorRole } from "./role.ts";
import { SignInLinkEntity } from "./schema.ts";
import { type OperatorSession, startOperatorSession } from "./session.ts";
import { looksLikeLink, randomToken, tokenHash } from "./token.ts";

/** For whom a link is created. */
export interface NewSignInLink {
  /** The operator's name, as the audit will show it. */
  readonly name: string;
  /** At least one role. */
  readonly roles: readonly OperatorRole[];
}

/** A sign-in link that is not used yet. */
export interface SignInLink extends NewSignInLink {
  /** The lender to which the session is restricted; null for an operator. */
  readonly lenderId: string | null;
  readonly expiresAt: Date;
}

/**
 * How long a sign-in link can be used.
 *
 * @example
 * const expiresAt = new Date(now.getTime() + SIGN_IN_LINK_TTL_MS);
 */
export const SIGN_IN_LINK_TTL_MS = 5 * 60_000;

/**
 * Creates a link with which an operator signs in once. Returns the token for its URL. The token cannot be read again later:
 * the database has only its SHA-256. Throws InvalidOperatorError.
 *
 * @example
 * const { token, expiresAt } = await createSignInLink(tx, { name: "Asha", roles: ["viewer"] }, now);
 */
export async function createSignInLink(
  tx: Tx,
  given: NewSignInLink,
  now: Date,
): Promise<{ token: string; expiresAt: Date }> {
  const operator = linkedOperatorName(given.name);
  return createLink(tx, { operator, roles: knownRoles(given.roles), lenderId: null }, now);
}

/** For whom a link of a lender's staff is created. */
export interface NewPortalLink {
  readonly lenderId: string;
  /** The name of the person or team, as the audit will show it. It should contain the lender's name. */
  readonly name: string;
  /**
   * The request that asks for the link. A repeat of the request, with the same `id` (a UUID), gets the same link. `secrets`
   * are derived from the id and from keys that no client knows, 43 characters of base64url each. The first is the secret of
   * a new link. Default: a random secret.
   */
  readonly request?: { readonly id: string; readonly secrets: readonly string[] };
}

/**
 * Creates a link with which a person of a lender's staff signs in once. The session is restricted to the lender. Returns the
 * token for the URL, which cannot be read again later. Throws InvalidOperatorError.
 *
 * @example
 * const { token, expiresAt } = await createPortalLink(tx, { lenderId, name: "Ravi of ACME" }, now);
 */
export async function createPortalLink(
  tx: Tx,
  { lenderId, name, request }: NewPortalLink,
  now: Date,
): Promise<{ token: string; expiresAt: Date }> {
  // The lender restricts the session, so the role is the lowest one.
  const staff = { operator: linkName(name), roles: ["viewer" as const], lenderId };
  if (request === undefined) return createLink(tx, staff, now);
  // A concurrent repeat waits here for the first request.
  await query(tx, lockRequest, [request.id]);
  const created = await tx.findOne(SignInLinkEntity, { id: request.id, lenderId });
  const tokens = request.secrets.map((secret) => `ppl_${secret}`);
  if (created === null) return createLink(tx, { ...staff, id: request.id, token: tokens[0]! }, now);
  const token = tokens.find((one) => tokenHash(one).equals(created.tokenHash)) ?? tokens[0]!;
  return { token, expiresAt: created.expiresAt };
}

async function createLink(
  tx: Tx,
  link: { operator: string; roles: OperatorRole[]; lenderId: string | null; id?: string; token?: string },
  now: Date,
): Promise<{ token: string; expiresAt: Date }> {
  const { operator, roles, lenderId, id = newId() } = link;
  const { token = randomToken(lenderId === null ? "opl" : "ppl") } = link;
  const expiresAt = new Date(now.getTime() + SIGN_IN_LINK_TTL_MS);
  tx.create(SignInLinkEntity, {
    id,
    tokenHash: tokenHash(token),
    operator,
    roles,
    lenderId,
    createdAt: now,
    expiresAt,
    usedAt: null,
    revokedAt: null,
  });
  const data = { linkId: id, ...(lenderId === null ? { roles } : { lenderId }) };
  recordOperatorAct(tx, { operator, act: "operator.link_created", data }, now);
  await tx.flush();
  return { token, expiresAt };
}

/**
 * Returns the link of a token, or undefined if the token is unknown, or if the link is used, revoked or expired. The link can
 * still be used afterwards.
 *
 * @example
 * const name = (await usableSignInLink(em, token, now))?.name;
 */
export async function usableSignInLink(em: EntityManager, token: string, now: Date): Promise<SignInLink | undefined> {
  if (!looksLikeLink(token)) return undefined;
  const link = await em.findOne(SignInLinkEntity, usable(token, now), { disableIdentityMap: true });
  if (link === null) return undefined;
  const { operator: name, roles, lenderId, expiresAt } = link;
  return { name, roles, lenderId, expiresAt };
}

/**
 * Uses a link up and starts a session. Returns the session's token, or undefined if the link cannot be used. Of concurrent
 * uses of a link, one signs in.
 *
 * @example
 * const signedIn = await transaction(em, (tx) => signInByLink(tx, token, now));
 * const until = signedIn?.session.expiresAt;
 */
export async function signInByLink(
  tx: Tx,
  token: string,
  now: Date,
): Promise<{ token: string; session: OperatorSession } | undefined> {
  if (!looksLikeLink(token)) return undefined;
  // A concurrent use waits here for the row. It then sees `usedAt` and updates nothing.
  if ((await tx.nativeUpdate(SignInLinkEntity, usable(token, now), { usedAt: now })) === 0) return undefined;
  const { operator, roles, lenderId } = await tx.findOneOrFail(SignInLinkEntity, { tokenHash: tokenHash(token) });
  return startOperatorSession(tx, { operator, roles, lenderId }, now);
}

function usable(token: string, now: Date) {
  return { tokenHash: tokenHash(token), usedAt: null, revokedAt: null, expiresAt: { $gt: now } };
}

const lockRequest = statement(
  "operators.lock-portal-request",
  `select pg_advisory_xact_lock(hashtextextended('operators.portal-link/' || $1::uuid::text, 0))`,
);
