import type { LookupFunction } from "node:net";
import { callbackify } from "node:util";
import type { buildConnector } from "undici";
import { forbiddenRange } from "./address-rule.ts";
import { type AllowList, isListed } from "./allow-list.ts";
import { readAnswers } from "./answer-stream.ts";
import { NameNotResolvedError, type ResolvedAddress, type ResolveName } from "./name-resolution.ts";
import { createSocketOpener } from "./open-socket.ts";

/**
 * The maximum number of a host's addresses that are tried, in the order of the DNS answer. The answer can have thousands
 * of addresses.
 */
const MAX_ADDRESSES_TRIED = 10;

/**
 * The host name resolves to an address that is not public unicast. The error does not contain the address, because the
 * address may belong to our own network.
 */
export class ForbiddenAddressError extends Error {
  readonly code = "FORBIDDEN_ADDRESS";

  constructor(hostname: string) {
    super(`${hostname} resolves to an address that is not public`);
    this.name = "ForbiddenAddressError";
  }
}

export type GuardOptions = {
  allow: AllowList;
  resolvePublic: ResolveName;
  resolveListed: ResolveName;
  ca: string | undefined;
};

/**
 * Makes the function that opens the sockets. For each connection it resolves the host name once, and checks all
 * addresses unless the host is in the allow list. The socket gets exactly these addresses, so that a second DNS answer
 * cannot redirect it. An address that is written in the URL itself is checked by `checkUrl`.
 */
export function createGuardedConnector(options: GuardOptions): buildConnector.connector {
  const openPublic = createSocketOpener(createCheckedLookup(options.resolvePublic), options.ca);
  const openListed = createSocketOpener(lookupWith(options.resolveListed), options.ca);
  return function connect(target, callback) {
    const port = target.port === "" ? defaultPort(target.protocol) : Number(target.port);
    const hostname = target.hostname.includes(":") ? `[${target.hostname}]` : target.hostname;
    const open = isListed(options.allow, hostname, port) ? openListed : openPublic;
    open(target, (error, opened) => {
      if (error !== null) return callback(error, null);
      readAnswers(opened);
      callback(null, opened.socket);
    });
  };
}

/** Makes a lookup function that fails with `ForbiddenAddressError` unless every address of the name is public. */
export function createCheckedLookup(resolve: ResolveName): LookupFunction {
  return lookupWith(async function resolveAndCheck(hostname) {
    const addresses = await resolve(hostname);
    if (addresses.some(({ address }) => forbiddenRange(address) !== null)) throw new ForbiddenAddressError(hostname);
    return addresses;
  });
}

/** Adapts a resolver to the lookup function of node:net. */
function lookupWith(resolve: ResolveName): LookupFunction {
  const resolveThenCall = callbackify((hostname: string) => resolveSome(resolve, hostname));
  return function lookup(hostname, options, callback) {
    resolveThenCall(hostname, (error, addresses) => {
      if (error !== null) callback(error, "");
      else if (options.all) callback(null, addresses);
      else callback(null, addresses[0].address, addresses[0].family);
    });
  };
}

async function resolveSome(resolve: ResolveName, hostname: string): Promise<[ResolvedAddress, ...ResolvedAddress[]]> {
  const addresses = await resolve(hostname).catch((error: unknown) => {
    throw error instanceof ForbiddenAddressError ? error : new NameNotResolvedError(hostname, error);
  });
  const [first, ...others] = addresses.slice(0, MAX_ADDRESSES_TRIED);
  if (first === undefined) throw new NameNotResolvedError(hostname, undefined);
  return [first, ...others];
}

function defaultPort(protocol: string): number {
  return protocol === "https:" ? 443 : 80;
}
