import express, { type Express, type NextFunction, type Request, type Response } from "express";
import helmet from "helmet";
import { createServer } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { query, statement } from "@collections/database";
import type { App } from "../app.ts";
import { reduceAbsoluteTarget } from "../http/absolute-target.ts";
import { bodyPace, type Pace } from "../http/body-pace.ts";
import { limitConnections } from "../http/connection-limit.ts";
import { withPrototypesOf } from "../http/express-prototypes.ts";
import { readForwardedFor } from "../http/forwarded-for.ts";
import { listen, urlOf } from "../http/listen.ts";
import { Problem } from "../http/problem.ts";
import { answerErrors } from "../http/error-answers.ts";
import { answerUnreadable } from "../http/unreadable-request.ts";

/** A listening HTTP server. */
export interface HttpServer {
  readonly url: string;
  /** Reports "not ready", so that load balancers choose other processes. Requests are still answered. */
  drain(): void;
  /** Accepts no new connections, asks clients to close theirs, and resolves when all running requests are answered, or after `graceMs`. */
  stop(graceMs: number): Promise<void>;
}

/** Time limits for clients (contract: Limits). */
export interface HttpTimes {
  /**
   * The time from the opening of the connection, or from the first byte of a later request, to the end of the headers.
   */
  headersMs: number;
  /** The time to the end of the body. It starts at the same moment as `headersMs`. */
  requestMs: number;
  pace: Pace;
  /** The time from the end of the body to the answer, for operations of the app's API other than subscriptions. */
  operationMs: number;
  /** How often connections are checked against `headersMs` and `requestMs`. */
  checkEveryMs: number;
}

/** An import of 5 MiB at 1 Mbit/s takes 42 s. A body that arrives more slowly than `pace` is cut off long before. */
export const HTTP_TIMES: HttpTimes = {
  headersMs: 10_000,
  requestMs: 120_000,
  pace: { everyMs: 10_000, minBytes: 65_536 },
  // 20 seconds, because a field partner at a door would then send the request again.
  operationMs: 20_000,
  checkEveryMs: 1_000,
};

const MAX_HEADER_BYTES = 16_384;
const READY_TIMEOUT_MS = 2_000;

const probeQuery = statement(
  "collections.ready",
  `select pg_is_in_recovery() as "isStandby", current_setting('transaction_read_only') = 'on' as "isReadOnly"`,
);
const CLOSE_IDLE_EVERY_MS = 50;

/**
 * Serves health, the APIs unless the role is `worker`, and metrics unless they have their own address. A worker does not
 * import the APIs: they are 30 % of the modules that a server loads.
 */
export async function startHttpServer(app: App, times: HttpTimes = HTTP_TIMES): Promise<HttpServer> {
  const { config } = app;
  let draining = false;
  const web: Express = express();
  web.disable("x-powered-by").disable("etag").set("trust proxy", config.trustProxy).set("query parser", false);
  // The operators' other hosts under the same name may have no TLS.
  web.use(helmet({ strictTransportSecurity: { includeSubDomains: false } }));
  web.use((_, response, next) => {
    // Ask clients to close their connections. Otherwise a busy client would keep using its connection.
    if (draining) response.setHeader("Connection", "close");
    next();
  });
  if (config.trustProxy.length > 0) web.use(readForwardedFor(config.proxyHeader, app.log));
  web.use(requireHost);
  web.use(bodyPace(times.pace, config.documentationUrl));
  web.get("/healthz", (_, response) => void response.json({ ok: true }));
  web.get("/readyz", async (_, response) => {
    const reason = draining ? "The process is stopping." : await reasonAgainstDatabase(app);
    response.status(reason === null ? 200 : 503).json({ ready: reason === null, draining, reason });
  });
  if (config.metricsAddress === undefined) {
    web.get("/metrics", async (_, response) => {
      response.type(app.metrics.registry.contentType).send(await app.metrics.registry.metrics());
    });
  }
  const apis =
    config.role === "worker" ? undefined : (await import("./apis.ts")).serveApis(web, app, times.operationMs);
  web.use(answerErrors(app.log, config.documentationUrl));
  const server = createServer(
    {
      ...withPrototypesOf(web),
      headersTimeout: times.headersMs,
      requestTimeout: times.requestMs,
      keepAliveTimeout: config.keepAliveTimeoutMs,
      connectionsCheckingInterval: times.checkEveryMs,
      maxHeaderSize: MAX_HEADER_BYTES,
      // By default, Node answers a request without a Host header itself, and the answer has no body. `requireHost`
      // answers with a problem instead.
      requireHostHeader: false,
    },
    (request, response) => {
      reduceAbsoluteTarget(request);
      web(request, response);
    },
  );
  answerUnreadable(server, config.documentationUrl);
  const isTrusted = web.get("trust proxy fn") as (address: string, hop: number) => boolean;
  limitConnections(server, {
    maxConnections: config.maxConnections,
    setting: "MAX_CONNECTIONS",
    isProxy: (address) => isTrusted(address, 0),
    log: app.log,
    onRefused: app.metrics.onRefusedConnection,
  });
  await listen(server, { host: config.host, port: config.port, settings: "HOST and PORT" }, app.log);
  return {
    url: urlOf(server, config.host),
    drain() {
      draining = true;
    },
    async stop(graceMs) {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      apis?.close();
      // Close each connection that has become idle after an answer. Otherwise the client would keep the connection
      // open.
      const idle = setInterval(() => server.closeIdleConnections(), CLOSE_IDLE_EVERY_MS);
      await Promise.race([closed, delay(graceMs, undefined, { ref: false })]);
      clearInterval(idle);
      server.closeAllConnections();
      await closed;
    },
  };
}

/** @throws Problem MALFORMED_HTTP for an HTTP/1.1 request without Host */
function requireHost({ httpVersion, headers }: Request, _: Response, next: NextFunction): void {
  if (httpVersion === "1.1" && headers.host === undefined) {
    throw new Problem("MALFORMED_HTTP", "Send a Host header: HTTP/1.1 requires it.");
  }
  next();
}

/** Returns why the database cannot be used now, or null. */
async function reasonAgainstDatabase({ database }: App): Promise<string | null> {
  const silent = "PostgreSQL does not answer.";
  const found = query<{ isStandby: boolean; isReadOnly: boolean }>(database.em(), probeQuery, [], {
    timeoutMs: READY_TIMEOUT_MS,
  }).then(
    ([state]) => {
      if (state!.isStandby) return "PostgreSQL is in recovery and accepts no writes.";
      return state!.isReadOnly ? "PostgreSQL is read-only: default_transaction_read_only is on." : null;
    },
    () => silent,
  );
  return Promise.race([found, delay(READY_TIMEOUT_MS, silent, { ref: false })]);
}
