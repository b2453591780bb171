import assert from "node:assert/strict";
import { type AllowList, parseAllowList } from "./allow-list.ts";
import type { OutboundAnswer } from "./exchange.ts";
import type { ResolveName } from "./name-resolution.ts";
import { type OwnFault, type OwnFaultAlarm, OwnFaultWatch } from "./own-fault.ts";
import type { Transport, TransportParts } from "./transport.ts";
import { checkUrl } from "./url-rule.ts";

/** The maximum number of cached URLs. Each has at most 2,048 characters. */
const MAX_CACHED_URLS = 1_000;
const DEFAULT_MAX_BODY_BYTES = 65_536;
const DEFAULT_USER_AGENT = "PartnerCollections/1.0";

/** How a process sends requests to other hosts. Each option has a default. */
export type OutboundOptions = {
  /** The hosts that the operator allows: the text of `OUTBOUND_ALLOW`, or the parsed list. Default: none. */
  allow?: string | AllowList;
  /** Resolves names. Default: queries the DNS servers, but asks the operating system for hosts in `allow`. */
  resolve?: ResolveName;
  /** The maximum number of sockets to one origin. Further requests wait for a socket until their own deadline. Default: 64. */
  maxSocketsPerOrigin?: number;
  userAgent?: string;
  /** A PEM certificate that is trusted in addition to the certificates of the system. */
  ca?: string;
  /** Called when our own DNS or network has failed for a minute, and when it works again. */
  ownFaultAlarm?: OwnFaultAlarm;
};

/** One request, which is sent once. If `url` does not pass `checkUrl`, the result is the failure `BLOCKED_ADDRESS`. */
export type OutboundRequest = {
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE" | "HEAD";
  url: string;
  headers?: Record<string, string>;
  body?: Uint8Array | string;
  /** The time limit for everything: DNS, connection, TLS, headers and body. */
  timeoutMs: number;
  /** The maximum number of bytes of the decoded body that are read. The rest is cut off. Default: 65,536. */
  maxBodyBytes?: number;
  /**
   * Opens a connection for this request alone, and closes it after the answer. A server may close an idle connection at
   * the moment when the next request is sent on it. Such a request is lost, and nobody knows whether it took effect.
   */
  freshConnection?: boolean;
  signal?: AbortSignal;
};

/**
 * The client for requests to addresses that the operator did not choose, such as lenders' callback URLs. No other part
 * of the product connects to such addresses.
 */
export type Outbound = {
  /** The hosts that the operator allows. Pass it to `checkUrl` when a URL is registered. */
  readonly allow: AllowList;
  /**
   * Sends the request once, and returns an answer or a failure. Redirects are returned and not followed. The promise
   * rejects only if the caller passed a header or method that cannot be sent. contract: Delivery
   */
  request(request: OutboundRequest): Promise<OutboundAnswer>;
  /** Returns the faults of our own DNS and network that no request has shown to be over, the longest first. */
  ownFaults(): OwnFault[];
  /**
   * Rejects new requests, waits for the running ones (each has its deadline), and closes all sockets. Requests that still
   * run after `graceMs` end with the failure `ABORTED`.
   */
  close(options?: { graceMs?: number }): Promise<void>;
};

/**
 * Makes the `Outbound` of a process. Make only one, because it keeps the idle sockets of each origin for later
 * requests. Throws `InvalidAllowListError` for an invalid `allow`.
 *
 * @example
 * const outbound = createOutbound({ userAgent: "InvoiceService/2.1" });
 * const headers = { "content-type": "application/json" };
 * const answer = await outbound.request({ method: "POST", url: callbackUrl, headers, body, timeoutMs: 10_000 });
 * if (answer.kind === "failure") console.error(answer.reason, describeFailure(answer), answer.requestSent);
 * else console.log(answer.status, answer.body.toString("utf8"));
 * await outbound.close({ graceMs: 10_000 });
 */
export function createOutbound(options: OutboundOptions = {}): Outbound {
  const allow = typeof options.allow === "object" ? options.allow : parseAllowList(options.allow ?? "");
  const watch = new OwnFaultWatch(options.ownFaultAlarm);
  const transport = loadedOnce({ allow, watch }, options);
  const userAgent = options.userAgent ?? DEFAULT_USER_AGENT;
  const destinationOf = cachedDestinations(allow);
  const running = new Set<Promise<OutboundAnswer>>();
  let isClosed = false;

  async function request(outgoing: OutboundRequest): Promise<OutboundAnswer> {
    const maxBodyBytes = outgoing.maxBodyBytes ?? DEFAULT_MAX_BODY_BYTES;
    assert.ok(outgoing.timeoutMs > 0 && maxBodyBytes >= 0, "timeoutMs and maxBodyBytes must be numbers above zero");
    if (isClosed) return CLOSED;
    const destination = destinationOf(outgoing.url);
    if (!destination.ok) {
      return {
        kind: "failure",
        code: "BLOCKED_ADDRESS",
        reason: "URL_NOT_ALLOWED",
        urlProblem: destination.reason,
        ownFault: false,
        requestSent: false,
        durationMs: 0,
      };
    }
    const answer = transport.exchange(
      {
        origin: destination.origin,
        path: destination.path,
        method: outgoing.method,
        headers: withDefaults(outgoing.headers ?? {}, userAgent),
        body: outgoing.body ?? null,
      },
      {
        timeoutMs: outgoing.timeoutMs,
        maxBodyBytes,
        signal: outgoing.signal,
      },
      outgoing.freshConnection === true,
    );
    running.add(answer);
    return answer.then((outcome) => noted(outcome, watch)).finally(() => running.delete(answer));
  }

  async function close({ graceMs }: { graceMs?: number } = {}): Promise<void> {
    isClosed = true;
    const graceTimer = graceMs === undefined ? undefined : setTimeout(() => void transport.destroy(), graceMs);
    await Promise.allSettled(running);
    clearTimeout(graceTimer);
    await transport.destroy();
  }

  return { allow, request, ownFaults: () => watch.current(), close };
}

/** Reports to `watch` whether the network of this machine works. A timeout may have its cause on either side. */
function noted(outcome: OutboundAnswer, watch: OwnFaultWatch): OutboundAnswer {
  if (outcome.kind === "answer") watch.worked("network");
  else if (outcome.reason === "OWN_NETWORK_FAILED") watch.failed("network", outcome.systemCode ?? "unknown");
  else if (outcome.code === "CONNECT" || outcome.code === "TLS") watch.worked("network");
  return outcome;
}

/** The answer to requests while this process is shutting down. */
const CLOSED: OutboundAnswer = {
  kind: "failure",
  code: "ABORTED",
  reason: "SHUTTING_DOWN",
  ownFault: true,
  requestSent: false,
  durationMs: 0,
};

/**
 * Returns a transport that is loaded by the first request. Most commands make no request, and loading undici takes longer
 * than many of them.
 */
function loadedOnce(parts: TransportParts, options: OutboundOptions): Transport {
  let loading: Promise<void> | undefined;
  let loaded: Transport | undefined;
  let isDestroyed = false;
  async function load(): Promise<void> {
    const { createTransport } = await import("./transport.ts");
    loaded = createTransport(parts, options);
  }
  return {
    async exchange(request, limits, isAlone) {
      if (!loaded) await (loading ??= load());
      return isDestroyed ? CLOSED : loaded!.exchange(request, limits, isAlone);
    },
    async destroy() {
      isDestroyed = true;
      // Ignore an error of the import: the request that waits for the import reports it. If the import failed, there is
      // no socket to close.
      await loading?.catch(() => {});
      await loaded?.destroy();
    },
  };
}

type Destination = { ok: true; origin: string; path: string } | { ok: false; reason: string };

/**
 * Returns `checkUrl` with a cache. The same few URLs are called often, and the result depends only on the URL and the
 * allow list.
 */
function cachedDestinations(allow: AllowList): (url: string) => Destination {
  const known = new Map<string, Destination>();
  return (text) => {
    const cached = known.get(text);
    if (cached) return cached;
    const verdict = checkUrl(text, allow);
    // Rejected URLs are not cached, because they may be of any length.
    if (!verdict.ok) return verdict;
    const { origin, pathname, search } = verdict.url;
    const destination = { ok: true as const, origin, path: pathname + search };
    if (known.size >= MAX_CACHED_URLS) known.clear();
    known.set(text, destination);
    return destination;
  };
}

/** Adds the headers that the caller has not given, in any case of their names. */
function withDefaults(headers: Record<string, string>, userAgent: string): Record<string, string> {
  const given = Object.keys(headers);
  const isGiven = (name: string) => given.some((one) => one.length === name.length && one.toLowerCase() === name);
  // A copy costs more than the two searches, and webhooks set both headers.
  if (isGiven("user-agent") && isGiven("accept-encoding")) return headers;
  return {
    ...headers,
    ...(!isGiven("user-agent") && { "User-Agent": userAgent }),
    // Answers are small, and some servers send compressed answers to a request without this header.
    ...(!isGiven("accept-encoding") && { "Accept-Encoding": "identity" }),
  };
}
