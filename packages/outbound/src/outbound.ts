import assert from "node:assert/strict";
import { Agent } from "undici";
import { type AllowList, parseAllowList } from "./allow-list.ts";
import { exchange, type OutboundAnswer } from "./exchange.ts";
import { CLOSED } from "./failure.ts";
import { createGuardedConnector } from "./guarded-connector.ts";
import { createDnsResolver, resolveBySystem, type ResolveName } from "./name-resolution.ts";
import { checkUrl } from "./url-rule.ts";

/** Each has 2,048 characters at most. */
const REMEMBERED_URLS = 1_000;
const DEFAULT_MAX_BODY_BYTES = 65_536;
const DEFAULT_MAX_SOCKETS_PER_ORIGIN = 64;
const DEFAULT_USER_AGENT = "PartnerCollections/1.0";
const MAX_HEADER_BYTES = 16_384;
/** Idle sockets are kept no longer than this, whatever the other side offers. */
const MAX_KEEP_ALIVE_MS = 60_000;

/** How a process reaches the outside. Each has a default. */
export type OutboundOptions = {
  /** What the operator opened: the text of `OUTBOUND_ALLOW`, or the list read from it. Default: nothing. */
  allow?: string | AllowList;
  /** Resolves names. Default: the DNS servers; the system for hosts in `allow`. */
  resolve?: ResolveName;
  /** Requests beyond it wait for a socket inside their own deadline. Default 64. */
  maxSocketsPerOrigin?: number;
  userAgent?: string;
  /** A PEM certificate to trust beside the system's. */
  ca?: string;
};

/** One request, sent once. `url` has to pass `checkUrl`: else the answer is the failure `BLOCKED_ADDRESS`. */
export type OutboundRequest = {
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE" | "HEAD";
  url: string;
  headers?: Record<string, string>;
  body?: Uint8Array | string;
  /** For everything: DNS, connection, TLS, headers and body. */
  timeoutMs: number;
  /** What is beyond is cut off and not read. Default 65,536. */
  maxBodyBytes?: number;
  signal?: AbortSignal;
};

/** The only door out: every connection to an address that somebody else chose is opened here. */
export type Outbound = {
  /** What the operator opened, for `checkUrl` at registration. */
  readonly allow: AllowList;
  /**
   * Sends the request once and answers with a value, whatever the world does. Redirects are returned, not followed.
   * Rejects only for a bug of the caller: a header or method that cannot be sent. contract: Delivery
   */
  request(request: OutboundRequest): Promise<OutboundAnswer>;
  /**
   * Refuses new requests, waits for the running ones (each has its deadline), closes all sockets. What still runs after
   * `graceMs` is broken off: `ABORTED`.
   */
  close(options?: { graceMs?: number }): Promise<void>;
};

/**
 * Opens the door. One per process: it holds the keep-alive sockets, one pool for each origin.
 * Throws `InvalidAllowListError` for an `allow` that cannot be read.
 *
 * @example
 * const outbound = createOutbound({ userAgent: "InvoiceService/2.1" });
 * const headers = { "content-type": "application/json" };
 * const answer = await outbound.request({ method: "POST", url: callbackUrl, headers, body, timeoutMs: 10_000 });
 * if (answer.kind === "failure") console.error(answer.code, answer.detail, answer.requestSent);
 * else console.log(answer.status, answer.body.toString("utf8"));
 * await outbound.close({ graceMs: 10_000 });
 */
export function createOutbound(options: OutboundOptions = {}): Outbound {
  const allow = typeof options.allow === "object" ? options.allow : parseAllowList(options.allow ?? "");
  const agent = createAgent(allow, options);
  const userAgent = options.userAgent ?? DEFAULT_USER_AGENT;
  const destinationOf = rememberDestinations(allow);
  const running = new Set<Promise<OutboundAnswer>>();
  let isClosed = false;

  async function request(wanted: OutboundRequest): Promise<OutboundAnswer> {
    const maxBodyBytes = wanted.maxBodyBytes ?? DEFAULT_MAX_BODY_BYTES;
    assert.ok(wanted.timeoutMs > 0 && maxBodyBytes >= 0, "timeoutMs and maxBodyBytes must be numbers above zero");
    if (isClosed) return { kind: "failure", ...CLOSED, requestSent: false, durationMs: 0 };
    const destination = destinationOf(wanted.url);
    if (!destination.ok) {
      return {
        kind: "failure",
        code: "BLOCKED_ADDRESS",
        detail: destination.reason,
        ownFault: false,
        requestSent: false,
        durationMs: 0,
      };
    }
    const answer = exchange(
      agent,
      {
        origin: destination.origin,
        path: destination.path,
        method: wanted.method,
        headers: withUserAgent(wanted.headers ?? {}, userAgent),
        body: wanted.body ?? null,
      },
      {
        timeoutMs: wanted.timeoutMs,
        maxBodyBytes,
        signal: wanted.signal,
      },
    );
    running.add(answer);
    return answer.finally(() => running.delete(answer));
  }

  async function close({ graceMs }: { graceMs?: number } = {}): Promise<void> {
    isClosed = true;
    const breakOff = graceMs === undefined ? undefined : setTimeout(() => void agent.destroy(), graceMs);
    await Promise.allSettled(running);
    clearTimeout(breakOff);
    await agent.destroy();
  }

  return { allow, request, close };
}

function createAgent(allow: AllowList, options: OutboundOptions): Agent {
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
    // Our own deadline covers both.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
}

type Destination = { ok: true; origin: string; path: string } | { ok: false; reason: string };

/** Checks each URL once: callbacks are few and called often, and the check needs nothing but the URL. */
function rememberDestinations(allow: AllowList): (url: string) => Destination {
  const known = new Map<string, Destination>();
  return (text) => {
    const remembered = known.get(text);
    if (remembered) return remembered;
    const verdict = checkUrl(text, allow);
    // A refused one may be of any length.
    if (!verdict.ok) return verdict;
    const { origin, pathname, search } = verdict.url;
    const destination = { ok: true as const, origin, path: pathname + search };
    if (known.size >= REMEMBERED_URLS) known.clear();
    known.set(text, destination);
    return destination;
  };
}

function withUserAgent(headers: Record<string, string>, userAgent: string): Record<string, string> {
  const isGiven = Object.keys(headers).some((name) => name.toLowerCase() === "user-agent");
  return isGiven ? headers : { ...headers, "User-Agent": userAgent };
}
