import { lookup, Resolver } from "node:dns/promises";

/** One address of a host. `family` is 4 or 6. */
export type ResolvedAddress = { address: string; family: number };
/**
 * Finds the addresses of a host. It rejects with the resolver's own error, whose `code` says why there are none.
 *
 * @example
 * const resolveByHosts: ResolveName = (hostname) => lookup(hostname, { all: true });
 * const outbound = createOutbound({ resolve: resolveByHosts });
 */
export type ResolveName = (hostname: string) => Promise<ResolvedAddress[]>;

/** Doubled for the second try, so that both end well within a delivery's 10 seconds. */
const QUERY_TIMEOUT_MS = 1_500;
const QUERY_TRIES = 2;

/** The name has no addresses, or nobody could tell. `errno` is the resolver's own code, for example `ENOTFOUND`. */
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
 * Asks the DNS servers directly. Unlike the system's `getaddrinfo` this holds no thread while it waits: Node runs only
 * two of those at a time, so two lenders with a silent DNS server would stop everybody's deliveries.
 * `servers` as `ip:port`, default the system's.
 */
export function createDnsResolver(servers?: string[]): ResolveName {
  const resolver = new Resolver({ timeout: QUERY_TIMEOUT_MS, tries: QUERY_TRIES });
  if (servers !== undefined) resolver.setServers(servers);
  return async function resolveByDns(hostname) {
    const [ipv4, ipv6] = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
    // One family may be missing or broken: only addresses that we saw and checked are ever connected to.
    if (ipv4.status === "rejected" && ipv6.status === "rejected") throw ipv4.reason;
    return [
      ...(ipv4.status === "fulfilled" ? ipv4.value.map((address) => ({ address, family: 4 })) : []),
      ...(ipv6.status === "fulfilled" ? ipv6.value.map((address) => ({ address, family: 6 })) : []),
    ];
  };
}

/** Asks the system, for hosts that the operator listed: `localhost` and names of /etc/hosts are known only there. */
export async function resolveBySystem(hostname: string): Promise<ResolvedAddress[]> {
  return lookup(hostname, { all: true });
}

/** The `code` of a system error, or undefined. */
export function errnoOf(error: unknown): string | undefined {
  const code: unknown = error instanceof Error && "code" in error ? error.code : undefined;
  return typeof code === "string" ? code : undefined;
}
