import { createServer } from "node:http";
import type { Logger } from "pino";
import { reduceAbsoluteTarget } from "../http/absolute-target.ts";
import { limitConnections } from "../http/connection-limit.ts";
import { listen, urlOf } from "../http/listen.ts";
import type { MetricsAddress } from "../settings/config.ts";
import type { Metrics } from "./metrics.ts";

/** A server that serves only `/metrics`. */
export interface MetricsServer {
  readonly url: string;
  stop(): Promise<void>;
}

/** A monitoring system needs one connection or two. One address may have a quarter of these connections. */
const MAX_CONNECTIONS = 64;

/** Time limits for clients. A connection is checked against them every `checkEveryMs`. */
export interface MetricsTimes {
  /** The time from the first byte of a request to its end. */
  readonly requestMs: number;
  readonly checkEveryMs: number;
}

const TIMES: MetricsTimes = { requestMs: 10_000, checkEveryMs: 1_000 };

/** Serves the metrics of this process at a separate address. Throws InvalidConfigError if it cannot listen there. */
export async function startMetricsServer(
  { registry }: Pick<Metrics, "registry">,
  address: MetricsAddress,
  log: Logger,
  { requestMs, checkEveryMs }: MetricsTimes = TIMES,
): Promise<MetricsServer> {
  const limits = { headersTimeout: requestMs, requestTimeout: requestMs, connectionsCheckingInterval: checkEveryMs };
  const server = createServer(limits, (request, response) => {
    reduceAbsoluteTarget(request);
    const path = request.url?.split("?", 1)[0];
    if (request.method !== "GET" || path !== "/metrics") {
      response.writeHead(404, { "content-type": "text/plain" }).end("Only GET /metrics is served here.\n");
      return;
    }
    registry.metrics().then(
      (text) => response.writeHead(200, { "content-type": registry.contentType }).end(text),
      (error: unknown) => {
        log.error({ error }, "metrics could not be read");
        response.writeHead(500).end();
      },
    );
  });
  limitConnections(server, { maxConnections: MAX_CONNECTIONS, setting: "the metrics port", isProxy: () => false, log });
  await listen(server, { ...address, settings: "METRICS_HOST and METRICS_PORT" }, log);
  return {
    url: `${urlOf(server, address.host)}/metrics`,
    stop() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      return closed;
    },
  };
}
