import { sessionOfRefreshToken } from "@collections/field-partners";
import { ClientError } from "../plumbing/client-error.ts";
import type { Context } from "../plumbing/context.ts";

/**
 * Takes one renewal from the limit of the session that the token is of, and what is no token of anybody's from that of
 * the address that it comes from: who guesses there keeps out nobody who has a token. Throws ClientError RATE_LIMITED.
 */
export async function admitRefresh({ app, address }: Context, refreshToken: string): Promise<void> {
  const { rateLimits } = app.config;
  if (rateLimits === "off") return;
  const sessionId = await sessionOfRefreshToken(app.database.em(), refreshToken);
  // Many phones share an address, also those whose sessions are long forgotten: as many as may sign in there.
  const admission = sessionId
    ? await app.rateLimiter.admit("refresh", sessionId)
    : await app.rateLimiter.admit("refresh", address, rateLimits["sign-in"]);
  if (admission?.granted !== false) return;
  const { quota, waitS } = admission;
  const message = sessionId
    ? `A session may be renewed ${quota} times a minute; go on in ${waitS} s.`
    : `More than ${quota} refresh tokens of nobody's came from this network in a minute. Wait ${waitS} s, or sign in.`;
  throw new ClientError("RATE_LIMITED", message, { retryAfterS: waitS });
}
