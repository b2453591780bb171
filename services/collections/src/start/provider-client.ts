import { describeFailure, type Outbound } from "@collections/outbound";
import type * as OidcClient from "openid-client";
import type { ConsoleOidcSettings } from "../settings/console-oidc.ts";

/** The library, and what it knows about the provider. */
export interface Discovered {
  readonly oidc: typeof OidcClient;
  readonly configuration: OidcClient.Configuration;
}

/** Knows the endpoints and keys of an OpenID Connect provider. */
export interface ProviderClient {
  /**
   * Returns what the provider's discovery document says. Reads it at the first call and then once an hour. Keeps the last
   * document while the provider cannot be reached. Rejects if there is none yet, and reads again at the next call.
   */
  discovered(): Promise<Discovered>;
}

/** The provider does not answer, or not in time, or with a failure of its own. */
export class ProviderUnavailableError extends Error {
  override readonly name = "ProviderUnavailableError";
}

const TIMEOUT_MS = 10_000;
const MAX_BODY_BYTES = 1_048_576;
const DOCUMENT_TTL_MS = 60 * 60_000;
const RETRY_AFTER_MS = 60_000;

/**
 * Creates the client. It sends nothing yet, so that the service starts while the provider is away.
 *
 * @param outbound makes the requests. Its allow list contains the issuer's host, which may be private
 */
export function createProviderClient(settings: ConsoleOidcSettings, outbound: Outbound): ProviderClient {
  let known: { readonly discovered: Discovered; readonly until: number } | undefined;
  let running: Promise<Discovered> | undefined;
  return {
    async discovered() {
      if (known && Date.now() < known.until) return known.discovered;
      running ??= discover(settings, outbound).finally(() => (running = undefined));
      try {
        const discovered = await running;
        known = { discovered, until: Date.now() + DOCUMENT_TTL_MS };
        return discovered;
      } catch (error) {
        if (!known) throw error;
        known = { ...known, until: Date.now() + RETRY_AFTER_MS };
        return known.discovered;
      }
    },
  };
}

async function discover({ issuer, clientId, clientSecret }: ConsoleOidcSettings, outbound: Outbound) {
  const oidc = await import("openid-client");
  const configuration = await oidc.discovery(
    new URL(issuer),
    clientId,
    clientSecret,
    (server, ...rest) => {
      // Without the list a provider supports client_secret_basic (OpenID Connect Discovery 1.0).
      const methods = server.token_endpoint_auth_methods_supported ?? ["client_secret_basic"];
      const authenticate = methods.includes("client_secret_basic") ? oidc.ClientSecretBasic : oidc.ClientSecretPost;
      return authenticate(clientSecret)(server, ...rest);
    },
    {
      [oidc.customFetch]: fetchBy(outbound),
      timeout: TIMEOUT_MS / 1_000,
      // By default the library trusts TLS instead of the signature of an ID token.
      execute: [oidc.enableNonRepudiationChecks, ...(issuer.startsWith("http:") ? [oidc.allowInsecureRequests] : [])],
    },
  );
  // For some hosts the library accepts the ID tokens of other issuers, too: everybody's, where anybody may be a tenant.
  const { issuer: named } = configuration.serverMetadata();
  if (new URL(named).href !== new URL(issuer).href) {
    throw new Error(`CONSOLE_OIDC_ISSUER is ${issuer}, but its discovery document names ${named.slice(0, 200)}`);
  }
  return { oidc, configuration };
}

/** Returns the fetch of the library. It obeys the rules for requests to other hosts, and follows no redirect. */
function fetchBy(outbound: Outbound): OidcClient.CustomFetch {
  return async (url, { method, headers, body, signal }) => {
    const answer = await outbound.request({
      method: method === "POST" ? "POST" : "GET",
      url,
      headers,
      ...(body instanceof URLSearchParams && { body: body.toString() }),
      timeoutMs: TIMEOUT_MS,
      maxBodyBytes: MAX_BODY_BYTES,
      // A code can be exchanged once, so its request must not be lost to a connection that ends.
      freshConnection: true,
      ...(signal && { signal }),
    });
    const { host } = new URL(url);
    if (answer.kind === "failure") throw new ProviderUnavailableError(`${host}: ${describeFailure(answer)}`);
    if (answer.status >= 500) throw new ProviderUnavailableError(`${host} answers ${answer.status}`);
    if (answer.bodyCut !== false) throw new ProviderUnavailableError(`the answer of ${host} is cut: ${answer.bodyCut}`);
    const hasBody = ![204, 205, 304].includes(answer.status);
    return new Response(hasBody ? new Uint8Array(answer.body) : null, {
      status: answer.status,
      headers: answer.headers,
    });
  };
}
