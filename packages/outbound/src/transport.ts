import { Agent, type Dispatcher } from "undici";
import type { AllowList } from "./allow-list.ts";
import { exchange, type ExchangeLimits, type OutboundAnswer } from "./exchange.ts";
import { createGuardedConnector } from "./guarded-connector.ts";
import { createDnsResolver, resolveBySystem, type ResolveName } from "./name-resolution.ts";

/** Sends requests and keeps the sockets of a process. */
export interface Transport {
  exchange(request: Dispatcher.DispatchOptions, limits: ExchangeLimits): Promise<OutboundAnswer>;
  /** Ends all requests and closes all sockets. */
  destroy(): Promise<void>;
}

/** The options of `createOutbound` about sockets. */
interface SocketOptions {
  readonly resolve?: ResolveName;
  readonly maxSocketsPerOrigin?: number;
  readonly ca?: string;
}

const DEFAULT_MAX_SOCKETS_PER_ORIGIN = 64;
const MAX_HEADER_BYTES = 16_384;
/** The longest time that an idle socket is kept, even if the server offers a longer time. */
const MAX_KEEP_ALIVE_MS = 60_000;

/** Makes the transport of a process. Only this file and the files below it load undici. */
export function createTransport(allow: AllowList, options: SocketOptions): Transport {
  const agent = createAgent(allow, options);
  return { exchange: (request, limits) => exchange(agent, request, limits), destroy: () => agent.destroy() };
}

function createAgent(allow: AllowList, options: SocketOptions): Agent {
  return new Agent({
    connect: createGuardedConnector({
      allow,
      resolvePublic: options.resolve ?? createDnsResolver(),
      resolveListed: options.resolve ?? resolveBySystem,
      ca: options.ca,
    }),
    connections: options.maxSocketsPerOrigin ?? DEFAULT_MAX_SOCKETS_PER_ORIGIN,
    pipelining: 1,
    allowH2: false,
    maxHeaderSize: MAX_HEADER_BYTES,
    keepAliveMaxTimeout: MAX_KEEP_ALIVE_MS,
    // Switches off undici's own time limits, because the deadline of the exchange covers headers and body.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
}
