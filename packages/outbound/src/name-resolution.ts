import { lookup, Resolver } from "node:dns/promises";

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
 * deliveries. `servers` are `ip:port`; the default is the system's DNS servers.
 */
export function createDnsResolver(servers?: string[]): ResolveName {
  const resolver = new Resolver({ timeout: QUERY_TIMEOUT_MS, tries: QUERY_TRIES });
  if (servers !== undefined) resolver.setServers(servers);
  return async function resolveByDns(hostname) {
    const [ipv4, ipv6] = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
    // The query for IPv4 or the query for IPv6 may fail, because a host can have addresses of one family only. Sockets
    // connect only to the addresses returned here, after a check.
    if (ipv4.status === "rejected" && ipv6.status === "rejected") throw ipv4.reason;
    return [
      ...(ipv4.status === "fulfilled" ? ipv4.value.map((address) => ({ address, family: 4 })) : []),
      ...(ipv6.status === "fulfilled" ? ipv6.value.map((address) => ({ address, family: 6 })) : []),
    ];
  };
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
