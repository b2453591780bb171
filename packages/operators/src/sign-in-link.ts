import { type EntityManager, newId, type Tx } from "@collections/database";
import { recordOperatorAct } from "./audit.ts";
import { InvalidOperatorError, operatorName } from "./operator-name.ts";
import { OPERATOR_ROLES, type OperatorRole } from "./role.ts";
import { SignInLinkEntity } from "./schema.ts";
import { type OperatorSession, startOperatorSession } from "./session.ts";
import { looksLikeToken, randomToken, tokenHash } from "./token.ts";

/** For whom a link is created. */
export interface NewSignInLink {
  /** The operator's name, as the audit will show it. */
  readonly name: string;
  /** At least one role. */
  readonly roles: readonly OperatorRole[];
}

/** A sign-in link that is not used yet. */
export interface SignInLink extends NewSignInLink {
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
  const operator = operatorName(given.name);
  const roles = OPERATOR_ROLES.filter((role) => given.roles.includes(role));
  if (roles.length === 0)
    throw new InvalidOperatorError(`An operator has at least one role: ${OPERATOR_ROLES.join(", ")}.`);
  const token = randomToken("opl");
  const expiresAt = new Date(now.getTime() + SIGN_IN_LINK_TTL_MS);
  const id = newId();
  tx.create(SignInLinkEntity, {
    id,
    tokenHash: tokenHash(token),
    operator,
    roles,
    createdAt: now,
    expiresAt,
    usedAt: null,
    revokedAt: null,
  });
  recordOperatorAct(tx, { operator, act: "operator.link_created", data: { linkId: id, roles } }, now);
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
  if (!looksLikeToken("opl", token)) return undefined;
  const link = await em.findOne(SignInLinkEntity, usable(token, now), { disableIdentityMap: true });
  return link === null ? undefined : { name: link.operator, roles: link.roles, expiresAt: link.expiresAt };
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
  if (!looksLikeToken("opl", token)) return undefined;
  // A concurrent use waits here for the row. It then sees `usedAt` and updates nothing.
  if ((await tx.nativeUpdate(SignInLinkEntity, usable(token, now), { usedAt: now })) === 0) return undefined;
  const { operator, roles } = await tx.findOneOrFail(SignInLinkEntity, { tokenHash: tokenHash(token) });
  return startOperatorSession(tx, { operator, roles }, now);
}

function usable(token: string, now: Date) {
  return { tokenHash: tokenHash(token), usedAt: null, revokedAt: null, expiresAt: { $gt: now } };
}
