import { alone } from "./alone.ts";
import type { Result, Tokens } from "./answers.ts";
import { NoAnswerError, RefusedRequestError, send } from "./graphql.ts";
import { REFRESH_SESSION, SIGN_OUT, WHO_AM_I } from "./operations.ts";
import { forget, read, write } from "./storage.ts";
import { uuid } from "./uuid.ts";

/** What the phone keeps of a sign-in. Without a refresh token it ends with its access token. */
interface KeptSession {
  readonly accessToken: string;
  readonly refresh?: {
    readonly token: string;
    /** The idempotency key of the one request that will use the token, however often that is sent. */
    readonly key: string;
    /** By this phone's clock, whatever time it believes that it is. */
    readonly renewAtMs: number;
  };
  readonly fieldPartnerId: string;
  readonly displayName: string;
}

/** The session is over, or it is somebody else's now: whoever it was has to sign in. */
export class SignedOutError extends Error {
  override readonly name = "SignedOutError";
  readonly code = "SIGNED_OUT";
}

const SESSION = "session";
const DEVICE = "device";
/** An access token counts for 15 minutes. */
const RENEW_AFTER_MS = 13 * 60_000;

const ended = new EventTarget();

/** Who is signed in; undefined when nobody is. */
export function signedInAs(): { readonly fieldPartnerId: string; readonly displayName: string } | undefined {
  return read<KeptSession>(SESSION);
}

/** Hears when the session has ended, whoever wanted it. */
export function onSessionEnd(hear: () => void): void {
  ended.addEventListener("end", hear);
}

/** Who is signed in, where somebody has to be. @throws SignedOutError */
export function whoAsks(): string {
  return kept().fieldPartnerId;
}

/** Signs in with tokens, or with an access token alone. @throws NoAnswerError, RefusedRequestError */
export async function signIn({ accessToken, refreshToken }: Partial<Tokens> & { accessToken: string }): Promise<void> {
  const { viewer } = await send<{ viewer: { id: string; displayName: string } }>(WHO_AM_I, {}, accessToken);
  const refresh = refreshToken === undefined ? {} : { refresh: toRefresh(refreshToken) };
  write(SESSION, { accessToken, ...refresh, fieldPartnerId: viewer.id, displayName: viewer.displayName });
}

/** Ends the session here and at the service. @throws NoAnswerError */
export async function signOut(): Promise<void> {
  const who = signedInAs()?.fieldPartnerId;
  try {
    await ask(SIGN_OUT, { input: { idempotencyKey: uuid() } });
  } catch (error) {
    // Nobody was signed in any more: that is what was wanted.
    if (!(error instanceof SignedOutError)) throw error;
  }
  if (signedInAs()?.fieldPartnerId === who) forget(SESSION);
  ended.dispatchEvent(new Event("end"));
}

/** Sends an operation as whoever is signed in. @throws NoAnswerError, RefusedRequestError, SignedOutError */
export async function ask<Data>(operation: string, variables: object = {}): Promise<Data> {
  const who = whoAsks();
  const data = await askAs<Data>(who, operation, variables);
  // What one may see is not shown to another one.
  keptOf(who);
  return data;
}

/**
 * Sends an operation as this person and nobody else, whoever signs in meanwhile in another window of the app.
 * @throws NoAnswerError, RefusedRequestError, SignedOutError
 */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the caller's operation decides the type of the answer
export async function askAs<Data>(who: string, operation: string, variables: object): Promise<Data> {
  const token = await accessToken(who);
  try {
    return await send<Data>(operation, variables, token);
  } catch (error) {
    if (!isUnauthenticated(error)) throw error;
  }
  const newToken = await renewed(who, token);
  try {
    return await send<Data>(operation, variables, newToken);
  } catch (error) {
    // A new token that does not count either: the session has ended in this moment.
    if (isUnauthenticated(error)) endHere(newToken);
    throw error;
  }
}

/** An access token of this person that counts, renewed when it is about to end. @throws NoAnswerError, SignedOutError */
export async function accessToken(who: string): Promise<string> {
  const { accessToken: token, refresh } = keptOf(who);
  return refresh && Date.now() > refresh.renewAtMs ? renewed(who, token) : token;
}

/**
 * This person's token after one that does not count any more. One request at a time, and the same one until it is
 * answered; what comes when the session is another one or over is not kept. @throws NoAnswerError, SignedOutError
 */
export function renewed(who: string, used: string): Promise<string> {
  return alone("renew", async () => {
    const session = keptOf(who);
    // Another window has renewed it meanwhile.
    if (session.accessToken !== used) return session.accessToken;
    if (!session.refresh) return endHere(used);
    const input = { refreshToken: session.refresh.token, idempotencyKey: session.refresh.key };
    const { result } = await send<{ result: Result<{ tokens: Tokens }> }>(REFRESH_SESSION, { input });
    const now = keptOf(who);
    if (now.accessToken !== used) return now.accessToken;
    if (result.code !== undefined) return endHere(used);
    const { accessToken, refreshToken } = result.tokens;
    write(SESSION, { ...session, accessToken, refresh: toRefresh(refreshToken) });
    return accessToken;
  });
}

export function isUnauthenticated(error: unknown): boolean {
  return error instanceof RefusedRequestError && error.code === "UNAUTHENTICATED";
}

/** What to tell the person about a failure. Whoever is signed out sees the sign-in screen instead. */
export function inWords(error: unknown): string {
  if (error instanceof NoAnswerError || error instanceof RefusedRequestError) return error.message;
  if (error instanceof SignedOutError) return "Sign in again.";
  throw error;
}

function kept(): KeptSession {
  return read<KeptSession>(SESSION) ?? endHere();
}

function keptOf(who: string): KeptSession {
  const session = kept();
  if (session.fieldPartnerId !== who) throw new SignedOutError();
  return session;
}

/** Ends the session that has this token; one that somebody has begun meanwhile goes on. */
function endHere(used?: string): never {
  if (used === undefined || read<KeptSession>(SESSION)?.accessToken === used) forget(SESSION);
  ended.dispatchEvent(new Event("end"));
  throw new SignedOutError();
}

/** The last refresh token that this device had, also of a session that has ended: it asks for codes as one that is known. */
export function lastRefreshToken(): string | undefined {
  return read<string>(DEVICE);
}

function toRefresh(token: string): NonNullable<KeptSession["refresh"]> {
  write(DEVICE, token);
  return { token, key: uuid(), renewAtMs: Date.now() + RENEW_AFTER_MS };
}
