import type { LookupFunction, Socket } from "node:net";
import { getCACertificates } from "node:tls";
import { callbackify } from "node:util";
import { buildConnector } from "undici";
import { forbiddenRange } from "./address-rule.ts";
import { type AllowList, isListed } from "./allow-list.ts";
import { NameNotResolvedError, type ResolvedAddress, type ResolveName } from "./name-resolution.ts";

/** An attempt to connect ends here even if whoever asked for it gave up earlier. */
const CONNECT_TIMEOUT_MS = 10_000;
/** How long one of several addresses may stay silent before the next is tried too. Node's 250 ms fails distant hosts. */
const NEXT_ADDRESS_AFTER_MS = 1_000;
/** Whoever owns a zone can list thousands of addresses in it. We knock at no more than these, in the DNS's order. */
const MAX_ADDRESSES_TRIED = 10;
/** See `readInBites`. */
const BITE_BYTES = 1_024;

/** The name leads to an address that is not public unicast. The address is kept out: it may be one of our own network. */
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
 * Opens the sockets. A name is resolved here, once per connection, and all its addresses are checked; the socket gets
 * exactly the checked ones, so there is no second answer to be fooled by. Address literals were checked with the URL.
 */
export function createGuardedConnector(options: GuardOptions): buildConnector.connector {
  const connectPublic = createConnector(createCheckedLookup(options.resolvePublic), options.ca);
  const connectListed = createConnector(lookupWith(options.resolveListed), options.ca);
  return function connect(target, callback) {
    const port = target.port === "" ? defaultPort(target.protocol) : Number(target.port);
    const hostname = target.hostname.includes(":") ? `[${target.hostname}]` : target.hostname;
    const connector = isListed(options.allow, hostname, port) ? connectListed : connectPublic;
    connector(target, (...outcome) => {
      if (outcome[0] === null) readInBites(outcome[1]);
      callback(...outcome);
    });
  };
}

/** A lookup that fails with `ForbiddenAddressError` unless every address of the name is public. */
export function createCheckedLookup(resolve: ResolveName): LookupFunction {
  return lookupWith(async function resolveAndCheck(hostname) {
    const addresses = await resolve(hostname);
    if (addresses.some(({ address }) => forbiddenRange(address) !== null)) throw new ForbiddenAddressError(hostname);
    return addresses;
  });
}

function createConnector(lookup: LookupFunction, ca: string | undefined): buildConnector.connector {
  return buildConnector({
    lookup,
    timeout: CONNECT_TIMEOUT_MS,
    // HTTP/2 sends requests again when a connection goes away. A payment call is never sent twice on its own.
    allowH2: false,
    rejectUnauthorized: true,
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: NEXT_ADDRESS_AFTER_MS,
    ...(ca === undefined ? {} : { ca: [...getCACertificates("default"), ca] }),
  });
}

/** A lookup in the shape that node:net wants. */
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

/**
 * Hands what arrived to the HTTP parser little by little, and nothing more once the connection is given up. Undici goes
 * on to the end of a read, making an error for each header beyond the limit: 64 KiB of them stop this process for 0.5 s.
 */
function readInBites(socket: Socket): void {
  const read = socket.read.bind(socket);
  socket.read = function readBite(size = BITE_BYTES): unknown {
    return socket.destroyed ? null : read(Math.min(size, socket.readableLength));
  };
}

function defaultPort(protocol: string): number {
  return protocol === "https:" ? 443 : 80;
}
