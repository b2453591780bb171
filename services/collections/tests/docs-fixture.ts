import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { afterFile } from "@collections/testing";
import express from "express";
import { pino } from "pino";
import { documentationSite } from "../src/docs/site.ts";

/** Serves the documentation alone, as behind a proxy that takes `publicBasePath` off; it ends after the test file. */
export async function serveDocumentation(publicBasePath = ""): Promise<string> {
  const site = documentationSite({ publicBasePath, log: pino({ level: "silent" }) });
  const server = express().set("etag", false).use(site).listen(0, "127.0.0.1");
  afterFile(() => {
    server.close();
    server.closeAllConnections();
  });
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
