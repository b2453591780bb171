import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { afterFile } from "@collections/testing";

/** A store on a real socket: takes objects by PUT, and gives all of them back, one a line. */
export interface AnchorStore {
  readonly url: string;
  /** What was put, by path with query. */
  readonly objects: Map<string, string>;
  readonly authorizations: (string | undefined)[];
  /** PUTs that are answered with 503 from now on. */
  refusals: number;
}

export async function startAnchorStore(): Promise<AnchorStore> {
  const objects = new Map<string, string>();
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      store.authorizations.push(request.headers.authorization);
      if (request.method === "GET") return response.end([...objects.values()].join(""));
      if (store.refusals > 0) {
        store.refusals -= 1;
        return response.writeHead(503).end();
      }
      objects.set(request.url!, body);
      return response.writeHead(201).end();
    });
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  afterFile(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/anchors?sig=s3cr3t`;
  const store: AnchorStore = { url, objects, authorizations: [], refusals: 0 };
  return store;
}
