import { Agent, Client, type Dispatcher } from "undici";
import type { AllowList } from "./allow-list.ts";
import { exchange, type ExchangeLimits, type OutboundAnswer } from "./exchange.ts";
import { createGuardedConnector } from "./guarded-connector.ts";
import { createDnsResolver, resolveBySystem, type ResolveName, watched } from "./name-resolution.ts";
import type { OwnFaultWatch } from "./own-fault.ts";

/** A request of undici with its origin. */
export type RequestToDispatch = Dispatcher.DispatchOptions & { readonly origin: string };

/** Sends requests and keeps the sockets of a process. */
export interface Transport {
  /** `isAlone`: the request gets a connection of its own, which is closed after the answer. */
  exchange(request: RequestToDispatch, limits: ExchangeLimits, isAlone: boolean): Promise<OutboundAnswer>;
  /** Ends all requests and closes all sockets. */
  destroy(): Promise<void>;
}

/** The options of `createOutbound` about sockets. */
interface SocketOptions {
  readonly resolve?: ResolveName;
  readonly maxSocketsPerOrigin?: number;
  readonly ca?: string;
}

/** The parts of an `Outbound` that its transport uses. */
export interface TransportParts {
  readonly allow: AllowList;
  readonly watch: OwnFaultWatch;
}

const DEFAULT_MAX_SOCKETS_PER_ORIGIN = 64;
const MAX_HEADER_BYTES = 16_384;
/** The longest time that an idle socket is kept, even if the server offers a longer time. */
const MAX_KEEP_ALIVE_MS = 60_000;

/** Makes the transport of a process. Only this file and the files below it load undici. */
export function createTransport(parts: TransportParts, options: SocketOptions): Transport {
  const connection = connectionOptions(parts, options);
  const agent = new Agent({
    ...connection,
    connections: options.maxSocketsPerOrigin ?? DEFAULT_MAX_SOCKETS_PER_ORIGIN,
  });
  const alone = new Set<Client>();

  async function exchangeAlone(request: RequestToDispatch, limits: ExchangeLimits): Promise<OutboundAnswer> {
    const client = new Client(request.origin, connection);
    alone.add(client);
    try {
      // `reset` sends `Connection: close`.
      return await exchange(client, { ...request, reset: true }, limits);
    } finally {
      // The answer does not wait until the socket is closed.
      void client.destroy().finally(() => alone.delete(client));
    }
  }

  return {
    exchange: (request, limits, isAlone) =>
      isAlone ? exchangeAlone(request, limits) : exchange(agent, request, limits),
    async destroy() {
      await Promise.all([agent, ...alone].map((dispatcher) => dispatcher.destroy()));
    },
  };
}

function connectionOptions({ allow, watch }: TransportParts, options: SocketOptions): Client.Options {
  return {
    connect: createGuardedConnector({
      allow,
      resolvePublic: watched(options.resolve ?? createDnsResolver(), watch, "dns"),
      resolveListed: watched(options.resolve ?? resolveBySystem, watch, "system"),
      ca: options.ca,
    }),
    pipelining: 1,
    allowH2: false,
    maxHeaderSize: MAX_HEADER_BYTES,
    keepAliveMaxTimeout: MAX_KEEP_ALIVE_MS,
    // Switches off undici's own time limits, because the deadline of the exchange covers headers and body.
    headersTimeout: 0,
    bodyTimeout: 0,
  };
}
