import { createServer } from "node:http";
import type { Logger } from "pino";
import { reduceAbsoluteTarget } from "../http/absolute-target.ts";
import { listen, urlOf } from "../http/listen.ts";
import type { MetricsAddress } from "../settings/config.ts";
import type { Metrics } from "./metrics.ts";

/** A server that serves only `/metrics`. */
export interface MetricsServer {
  readonly url: string;
  stop(): Promise<void>;
}

const HEADERS_WITHIN_MS = 10_000;

/** Serves the metrics of this process at a separate address. Throws InvalidConfigError if it cannot listen there. */
export async function startMetricsServer(
  { registry }: Pick<Metrics, "registry">,
  address: MetricsAddress,
  log: Logger,
): Promise<MetricsServer> {
  const server = createServer({ headersTimeout: HEADERS_WITHIN_MS }, (request, response) => {
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
