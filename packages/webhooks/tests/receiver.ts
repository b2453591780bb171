import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** One request that a receiver got. */
export interface Received {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly eventId: string;
  readonly loan: string;
  readonly sequence: number;
}

/** A lender's callback on 127.0.0.1. */
export interface Receiver extends AsyncDisposable {
  readonly url: string;
  readonly received: Received[];
  /** The highest number of requests under way at a time, for one loan and over all loans. */
  readonly atOnce: { perLoan: number; all: number };
  /** Resolves when `count` requests have arrived. */
  arrived(count: number): Promise<void>;
}

/** Opens a callback that reads each request and answers with `answer`, by default 204. */
export async function openReceiver(
  answer: (response: ServerResponse, request: Received, number: number) => void = (response) =>
    void response.writeHead(204).end(),
  path = "/hooks",
): Promise<Receiver> {
  const received: Received[] = [];
  const atOnce = { perLoan: 0, all: 0 };
  const underWay = new Map<string, number>();
  let inAll = 0;
  const waiting = new Set<() => void>();
  const server = createServer((message, response) => {
    const chunks: Buffer[] = [];
    message.on("data", (chunk: Buffer) => chunks.push(chunk));
    message.on("end", () => {
      const body = Buffer.concat(chunks).toString();
      const facts = JSON.parse(body) as Pick<Received, "eventId" | "loan" | "sequence">;
      const { eventId, loan, sequence } = facts;
      const request = { path: message.url ?? "", headers: message.headers, body, eventId, loan, sequence };
      received.push(request);
      const busy = (underWay.get(loan) ?? 0) + 1;
      underWay.set(loan, busy);
      atOnce.perLoan = Math.max(atOnce.perLoan, busy);
      inAll += 1;
      atOnce.all = Math.max(atOnce.all, inAll);
      response.on("close", () => {
        underWay.set(loan, (underWay.get(loan) ?? 1) - 1);
        inAll -= 1;
      });
      for (const check of waiting) check();
      answer(response, request, received.length);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`,
    received,
    atOnce,
    async arrived(count) {
      if (received.length >= count) return;
      const { promise, resolve } = Promise.withResolvers<void>();
      const check = () => received.length >= count && resolve();
      waiting.add(check);
      await promise;
      waiting.delete(check);
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
