import { exclusively } from "./exclusively.ts";
import type { Tokens } from "./answers.ts";
import { RefusedRequestError, send } from "./graphql.ts";
import { type Operation, REFRESH_SESSION, SIGN_OUT, WHO_AM_I } from "./operations.ts";
import { Stored } from "./storage.ts";
import { uuid } from "./uuid.ts";

/** The stored session. Without a refresh token, it ends when its access token expires. */
interface KeptSession {
  readonly accessToken: string;
  readonly refresh?: {
    readonly token: string;
    /**
     * The idempotency key of the request that will exchange the refresh token. All attempts of that request use the
     * same idempotency key.
     */
    readonly key: string;
    /** When to renew the tokens, in the time of this phone's clock. The clock need not be correct. */
    readonly renewAtMs: number;
  };
  readonly fieldPartnerId: string;
  readonly displayName: string;
}

/** Thrown if the session has ended, or another person has signed in. The user has to sign in again. */
export class SignedOutError extends Error {
  override readonly name = "SignedOutError";
  readonly code = "SIGNED_OUT";
}

const keptSession = new Stored<KeptSession>("session");
const deviceToken = new Stored<string>("device");
/** An access token is valid for 15 minutes. */
const RENEW_AFTER_MS = 13 * 60_000;

const ended = new EventTarget();

/** Returns who is signed in, or undefined. */
export function signedInAs(): { readonly fieldPartnerId: string; readonly displayName: string } | undefined {
  return keptSession.read();
}

/** Calls the listener when the session has ended, for whatever reason. */
export function onSessionEnd(listener: () => void): void {
  ended.addEventListener("end", listener);
}

/** Returns the id of the signed-in field partner. @throws SignedOutError if nobody is signed in */
export function signedInId(): string {
  return kept().fieldPartnerId;
}

/** Signs in with tokens, or with an access token alone. @throws NoAnswerError, RefusedRequestError */
export async function signIn({ accessToken, refreshToken }: Partial<Tokens> & { accessToken: string }): Promise<void> {
  const { viewer } = await send(WHO_AM_I, {}, accessToken);
  const refresh = refreshToken === undefined ? {} : { refresh: toRefresh(refreshToken) };
  keptSession.write({ accessToken, ...refresh, fieldPartnerId: viewer.id, displayName: viewer.displayName });
}

/** Ends the session here and at the service. @throws NoAnswerError */
export async function signOut(): Promise<void> {
  const who = signedInAs()?.fieldPartnerId;
  try {
    await ask(SIGN_OUT, { input: { idempotencyKey: uuid() } });
  } catch (error) {
    // If the session has already ended, there is nothing left to do.
    if (!(error instanceof SignedOutError)) throw error;
  }
  if (signedInAs()?.fieldPartnerId === who) keptSession.forget();
  ended.dispatchEvent(new Event("end"));
}

/** Sends an operation as the signed-in field partner. @throws NoAnswerError, RefusedRequestError, SignedOutError */
export async function ask<Data>(operation: Operation<Data>, variables: object = {}): Promise<Data> {
  const who = signedInId();
  const data = await askAs(who, operation, variables);
  // Throws if another person has signed in since the request was sent, because that person must not see this answer.
  keptOf(who);
  return data;
}

/**
 * Sends an operation in the name of the field partner `who`, even if another person signs in at the same time in
 * another window of the app.
 * @throws NoAnswerError, RefusedRequestError, SignedOutError
 */
export async function askAs<Data>(who: string, operation: Operation<Data>, variables: object): Promise<Data> {
  const token = await accessToken(who);
  try {
    return await send(operation, variables, token);
  } catch (error) {
    if (!isUnauthenticated(error)) throw error;
  }
  const newToken = await renewed(who, token);
  try {
    return await send(operation, variables, newToken);
  } catch (error) {
    // The new token is rejected too: the session has just ended.
    if (isUnauthenticated(error)) endHere(newToken);
    throw error;
  }
}

/**
 * Returns a valid access token of the field partner `who`. Renews the access token shortly before it expires.
 * @throws NoAnswerError, SignedOutError
 */
export async function accessToken(who: string): Promise<string> {
  const { accessToken: token, refresh } = keptOf(who);
  return refresh && Date.now() > refresh.renewAtMs ? renewed(who, token) : token;
}

/**
 * Renews the access token `used` of the field partner `who`, which is no longer valid. Only one request runs at a time,
 * and the same request is repeated until it is answered. The answer is discarded if the session has ended, or another
 * person has signed in, before the answer arrives.
 * @throws NoAnswerError, SignedOutError
 */
export function renewed(who: string, used: string): Promise<string> {
  return exclusively("renew", async () => {
    const session = keptOf(who);
    // Another window has renewed the token since this request was sent.
    if (session.accessToken !== used) return session.accessToken;
    if (!session.refresh) return endHere(used);
    const input = { refreshToken: session.refresh.token, idempotencyKey: session.refresh.key };
    const { result } = await send(REFRESH_SESSION, { input });
    const now = keptOf(who);
    if (now.accessToken !== used) return now.accessToken;
    if (result.code !== undefined) return endHere(used);
    const { accessToken, refreshToken } = result.tokens;
    keptSession.write({ ...session, accessToken, refresh: toRefresh(refreshToken) });
    return accessToken;
  });
}

export function isUnauthenticated(error: unknown): boolean {
  return error instanceof RefusedRequestError && error.code === "UNAUTHENTICATED";
}

function kept(): KeptSession {
  return keptSession.read() ?? endHere();
}

function keptOf(who: string): KeptSession {
  const session = kept();
  if (session.fieldPartnerId !== who) throw new SignedOutError();
  return session;
}

/**
 * Ends the stored session if its access token is `used`. A session that was started since then continues. If `used` is
 * undefined, ends the stored session in any case.
 */
function endHere(used?: string): never {
  if (used === undefined || keptSession.read()?.accessToken === used) keptSession.forget();
  ended.dispatchEvent(new Event("end"));
  throw new SignedOutError();
}

/**
 * Returns this device's last refresh token, even of an ended session. In a request for a code it shows that the device
 * was signed in before.
 */
export function lastRefreshToken(): string | undefined {
  return deviceToken.read();
}

function toRefresh(token: string): NonNullable<KeptSession["refresh"]> {
  deviceToken.write(token);
  return { token, key: uuid(), renewAtMs: Date.now() + RENEW_AFTER_MS };
}
