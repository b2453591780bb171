import { lookup, type Resolver } from "node:dns/promises";
import { type DnsServers, SYSTEM_DNS_SERVERS } from "./dns-servers.ts";
import { OWN_DNS_ERRNOS, type OwnFaultWatch, type WatchedPart } from "./own-fault.ts";

/** One address of a host. `family` is 4 or 6. */
export type ResolvedAddress = { address: string; family: number };
/**
 * Finds the addresses of a host. It rejects with the resolver's own error, whose `code` is the reason.
 *
 * @example
 * const resolveByHosts: ResolveName = (hostname) => lookup(hostname, { all: true });
 * const outbound = createOutbound({ resolve: resolveByHosts });
 */
export type ResolveName = (hostname: string) => Promise<ResolvedAddress[]>;

/**
 * The timeout of the first try. The resolver doubles the timeout for the second try. Both tries end well within the
 * 10 seconds of a delivery.
 */
const QUERY_TIMEOUT_MS = 1_500;
const QUERY_TRIES = 2;
/** How often a query looks whether the list of DNS servers has changed. */
const LOOK_EVERY_MS = 1_000;

/** The name has no addresses, or no DNS server answered. `errno` is the resolver's code, for example `ENOTFOUND`. */
export class NameNotResolvedError extends Error {
  readonly code = "NAME_NOT_RESOLVED";
  readonly errno: string;

  constructor(hostname: string, cause: unknown) {
    super(`${hostname} could not be resolved`, { cause });
    this.name = "NameNotResolvedError";
    this.errno = errnoOf(cause) ?? "ENODATA";
  }
}

/**
 * Makes a resolver that queries the DNS servers directly. The system's `getaddrinfo` would block a thread while it
 * waits, and Node runs only two such calls at a time: two lenders whose DNS servers do not answer would stop all
 * deliveries.
 *
 * The servers are read again when they have changed, and after a query that no server answered. Such a query is repeated
 * if there are other servers now.
 */
export function createDnsResolver(servers: DnsServers = SYSTEM_DNS_SERVERS): ResolveName {
  let current = openChannel(servers);
  let version: string | undefined;
  let lookedAt = -Infinity;

  async function renewIfChanged(): Promise<void> {
    const now = performance.now();
    if (now - lookedAt < LOOK_EVERY_MS) return;
    lookedAt = now;
    const newest = await servers.version();
    if (version !== undefined && newest !== version) current = openChannel(servers);
    version = newest;
  }

  return async function resolveByDns(hostname) {
    await renewIfChanged();
    const used = current;
    try {
      return await queryBoth(used.resolver, hostname);
    } catch (error) {
      if (!isOwnDnsError(error)) throw error;
      // Another query may have renewed the channel already. A new channel also has new sockets: the old ones are bound
      // to an address that the machine may have lost.
      if (current === used) current = openChannel(servers);
      if (current.servers.join() === used.servers.join()) throw error;
      return queryBoth(current.resolver, hostname);
    }
  };
}

function openChannel(source: DnsServers): { readonly resolver: Resolver; readonly servers: readonly string[] } {
  const resolver = source.open({ timeout: QUERY_TIMEOUT_MS, tries: QUERY_TRIES });
  return { resolver, servers: resolver.getServers() };
}

async function queryBoth(resolver: Resolver, hostname: string): Promise<ResolvedAddress[]> {
  const [ipv4, ipv6] = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
  // The query for IPv4 or the query for IPv6 may fail, because a host can have addresses of one family only. Sockets
  // connect only to the addresses returned here, after a check.
  if (ipv4.status === "rejected" && ipv6.status === "rejected") throw ipv4.reason;
  return [
    ...(ipv4.status === "fulfilled" ? ipv4.value.map((address) => ({ address, family: 4 })) : []),
    ...(ipv6.status === "fulfilled" ? ipv6.value.map((address) => ({ address, family: 6 })) : []),
  ];
}

/** Returns the resolver, which reports to `watch` whether our own side fails. */
export function watched(resolve: ResolveName, watch: OwnFaultWatch, part: WatchedPart): ResolveName {
  return async function resolveWatched(hostname) {
    try {
      const addresses = await resolve(hostname);
      watch.worked(part);
      return addresses;
    } catch (error) {
      if (isOwnDnsError(error)) watch.failed(part, errnoOf(error) ?? "unknown");
      else watch.worked(part);
      throw error;
    }
  };
}

function isOwnDnsError(error: unknown): boolean {
  return OWN_DNS_ERRNOS.has(errnoOf(error) ?? "");
}

/**
 * Resolves a host of the allow list with the operating system. Only the operating system knows `localhost` and the
 * names in /etc/hosts.
 */
export async function resolveBySystem(hostname: string): Promise<ResolvedAddress[]> {
  return lookup(hostname, { all: true });
}

/** Returns the `code` of an error, or undefined if the error has none. */
export function errnoOf(error: unknown): string | undefined {
  const code: unknown = error instanceof Error && "code" in error ? error.code : undefined;
  return typeof code === "string" ? code : undefined;
}
