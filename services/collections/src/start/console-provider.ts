import { randomUUID } from "node:crypto";
import type { ProviderAccess, ProviderOutcome, ProviderRefusal } from "@collections/console";
import { transaction } from "@collections/database";
import type { Database } from "@collections/entities";
import { SealedValueError, type Vault } from "@collections/lenders";
import { InvalidOperatorError, isProviderOperatorName, signInByProvider } from "@collections/operators";
import type * as OidcClient from "openid-client";
import type { Logger } from "pino";
import type { ConsoleOidcSettings } from "../settings/console-oidc.ts";
import { type Claims, nameIn, rolesIn } from "./oidc-claims.ts";
import { type ProviderClient, ProviderUnavailableError } from "./provider-client.ts";

/** The parts that the sign-in by a provider needs. */
export interface ProviderParts {
  readonly settings: ConsoleOidcSettings;
  /** The URL of the console in browsers. */
  readonly console: string;
  readonly client: ProviderClient;
  readonly vault: Vault;
  readonly database: Database;
  readonly log: Logger;
}

/** A sign-in that has begun. The browser keeps it in a cookie, sealed, so that any process can finish it. */
interface Attempt {
  /** With this id the attempt is used up when it signs in. */
  readonly id: string;
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
  readonly expiresAtMs: number;
}

const ATTEMPT_TTL_MS = 10 * 60_000;
const SEALED_FOR = "console.provider_sign_in";

/**
 * Signs operators in by an OpenID Connect provider: authorization code flow with PKCE, state and nonce. Signs them out there
 * by RP-Initiated Logout. The ID token is not kept for it, so the provider asks the person first.
 */
export function createProviderAccess(parts: ProviderParts): ProviderAccess {
  const { settings, client, vault, log } = parts;
  const redirectUri = `${parts.console}/oidc/callback`;
  return {
    host: new URL(settings.issuer).host,
    async start() {
      try {
        const { oidc, configuration } = await client.discovered();
        const attempt = newAttempt(oidc);
        const url = oidc.buildAuthorizationUrl(configuration, {
          redirect_uri: redirectUri,
          scope: settings.scope,
          state: attempt.state,
          nonce: attempt.nonce,
          code_challenge: await oidc.calculatePKCECodeChallenge(attempt.verifier),
          code_challenge_method: "S256",
        });
        const token = vault.seal(JSON.stringify(attempt), SEALED_FOR);
        return { url: url.href, attempt: { token, expiresAt: new Date(attempt.expiresAtMs) } };
      } catch (error) {
        log.warn({ issuer: settings.issuer, ...causeOf(error) }, "the sign-in provider of the console cannot be used");
        return undefined;
      }
    },
    async finish({ attempt: token, query }) {
      const attempt = openAttempt(vault, token);
      if (!attempt || attempt.expiresAtMs <= Date.now() || query.get("state") !== attempt.state)
        return refused("expired");
      const answeredAt = new URL(redirectUri);
      answeredAt.search = query.toString();
      try {
        return await signIn(parts, attempt, await confirmedBy(parts, attempt, answeredAt));
      } catch (error) {
        const refusal = error instanceof ConfirmationError ? error.refusal : undefined;
        if (refusal === undefined) throw error;
        log.warn({ issuer: settings.issuer, ...refusal, ...causeOf((error as Error).cause) }, "a sign-in was refused");
        return refusal;
      }
    },
    hasSignedIn: ({ name, lenderCode }) => lenderCode === null && isProviderOperatorName(name, settings.issuer),
    async signOutUrl() {
      try {
        const { oidc, configuration } = await client.discovered();
        if (configuration.serverMetadata().end_session_endpoint === undefined) return undefined;
        const returnTo = `${parts.console}/oidc/signed-out`;
        return oidc.buildEndSessionUrl(configuration, { post_logout_redirect_uri: returnTo }).href;
      } catch (error) {
        log.warn({ issuer: settings.issuer, ...causeOf(error) }, "the sign-out at the sign-in provider cannot be used");
        return undefined;
      }
    },
  };
}

function newAttempt(oidc: typeof OidcClient): Attempt {
  return {
    id: randomUUID(),
    state: oidc.randomState(),
    nonce: oidc.randomNonce(),
    verifier: oidc.randomPKCECodeVerifier(),
    expiresAtMs: Date.now() + ATTEMPT_TTL_MS,
  };
}

function openAttempt(vault: Vault, token: string): Attempt | undefined {
  try {
    return JSON.parse(vault.open(token, SEALED_FOR)) as Attempt;
  } catch (error) {
    if (error instanceof SealedValueError) return undefined;
    throw error;
  }
}

/** The answer of the provider does not sign anybody in. */
class ConfirmationError extends Error {
  readonly refusal: Extract<ProviderOutcome, { kind: "refused" }>;

  constructor(refusal: Extract<ProviderOutcome, { kind: "refused" }>, cause: unknown) {
    super(refusal.reason, { cause });
    this.refusal = refusal;
  }
}

/** A person whom the provider has confirmed, with the claims of the ID token and, if necessary, of the userinfo endpoint. */
interface Confirmed {
  readonly subject: string;
  readonly sources: readonly Claims[];
}

/** Exchanges the code for an ID token, and checks it. Throws ConfirmationError. */
async function confirmedBy({ client, settings }: ProviderParts, attempt: Attempt, answeredAt: URL): Promise<Confirmed> {
  let oidc: typeof OidcClient | undefined;
  try {
    const discovered = await client.discovered();
    oidc = discovered.oidc;
    const { configuration } = discovered;
    const tokens = await oidc.authorizationCodeGrant(configuration, answeredAt, {
      pkceCodeVerifier: attempt.verifier,
      expectedState: attempt.state,
      expectedNonce: attempt.nonce,
      idTokenExpected: true,
    });
    const signed: Claims & { readonly sub: string } = tokens.claims()!;
    const { nameClaim, rolesClaim } = settings;
    const isComplete = nameIn(signed, nameClaim) !== undefined && rolesIn(signed, rolesClaim).length > 0;
    if (isComplete || configuration.serverMetadata().userinfo_endpoint === undefined) {
      return { subject: signed.sub, sources: [signed] };
    }
    const returned = await oidc.fetchUserInfo(configuration, tokens.access_token, signed.sub);
    return { subject: signed.sub, sources: [signed, returned] };
  } catch (error) {
    if (isUnavailable(error) || oidc === undefined) throw new ConfirmationError(refused("unavailable"), error);
    if (error instanceof oidc.AuthorizationResponseError) {
      throw new ConfirmationError(refused("not_signed_in", error.error), error);
    }
    throw new ConfirmationError(refused("invalid"), error);
  }
}

async function signIn(
  { settings, database }: ProviderParts,
  attempt: Attempt,
  { subject, sources }: Confirmed,
): Promise<ProviderOutcome> {
  const { issuer, nameClaim, rolesClaim } = settings;
  const name = sources.map((claims) => nameIn(claims, nameClaim)).find((one) => one !== undefined);
  if (name === undefined) throw new ConfirmationError(refused("no_name", nameClaim), undefined);
  const roles = sources.map((claims) => rolesIn(claims, rolesClaim)).find((some) => some.length > 0);
  if (roles === undefined) throw new ConfirmationError(refused("no_role", rolesClaim), undefined);
  const given = { attemptId: attempt.id, issuer, subject, name, roles };
  try {
    const signedIn = await transaction(database.em(), (tx) => signInByProvider(tx, given, new Date()));
    if (!signedIn) return refused("expired");
    const { token, session } = signedIn;
    return { kind: "signed_in", name: session.name, session: { token, expiresAt: session.expiresAt } };
  } catch (error) {
    if (error instanceof InvalidOperatorError) throw new ConfirmationError(refused("no_name", nameClaim), error);
    throw error;
  }
}

function refused(reason: ProviderRefusal, detail?: string) {
  return { kind: "refused" as const, reason, detail };
}

function isUnavailable(error: unknown): boolean {
  if (error instanceof ProviderUnavailableError) return true;
  return error instanceof Error && isUnavailable(error.cause);
}

/** Returns the cause of a refusal for the log. The library's messages contain no token and no claim. */
function causeOf(error: unknown): { readonly cause?: string } {
  const messages: string[] = [];
  for (let one = error; one instanceof Error; one = one.cause) {
    const { code, error: said, status } = one as { code?: unknown; error?: unknown; status?: unknown };
    const parts = [one.message, code, said, typeof status === "number" ? `status ${status}` : undefined];
    messages.push(parts.filter((part) => typeof part === "string" && part !== "").join(", "));
  }
  return messages.length === 0 ? {} : { cause: messages.join(": ") };
}
