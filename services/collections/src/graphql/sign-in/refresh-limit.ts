import { sessionOfRefreshToken } from "@collections/field-partners";
import { ClientError } from "../plumbing/client-error.ts";
import type { Context } from "../plumbing/context.ts";

/**
 * Counts one renewal for the session of the refresh token. An unknown token counts for the address of the request
 * instead, so that guessing does not block clients with a known token. Throws ClientError RATE_LIMITED.
 */
export async function admitRefresh({ app, address }: Context, refreshToken: string): Promise<void> {
  const { rateLimits } = app.config;
  if (rateLimits === "off") return;
  const sessionId = await sessionOfRefreshToken(app.database.em(), refreshToken);
  // Unknown tokens may come from many phones that share an address, because tokens of deleted sessions are unknown. So
  // an address may use as many unknown tokens as the limit of sign-ins allows.
  const admission = sessionId
    ? await app.rateLimiter.admit("refresh", sessionId)
    : await app.rateLimiter.admit("refresh", address, rateLimits["sign-in"]);
  if (admission?.granted !== false) return;
  const { quota, waitS } = admission;
  const message = sessionId
    ? `A session may be renewed ${quota} times a minute; try again in ${waitS} s.`
    : `More than ${quota} unknown refresh tokens came from this network in a minute. Wait ${waitS} s, or sign in.`;
  throw new ClientError("RATE_LIMITED", message, { retryAfterS: waitS });
}
