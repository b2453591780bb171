import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { answerQuestions } from "./child.ts";

/** Asks the receiver where it listens, to forget what arrived, or for what has arrived since, once it is so many. */
export type ReceiverQuestion =
  | { readonly ask: "url" }
  | { readonly ask: "forget" }
  | { readonly ask: "arrivals"; readonly expected: number };

/** When each delivery arrived first, by its id: in milliseconds since 1970, to the microsecond. */
export type Arrivals = Readonly<Record<string, number>>;

const ALL_WITHIN_MS = 120_000;
const arrivedAtMs = new Map<string, number>();
let tellWhenAllAreThere = (): void => {};

/** Takes an event, notes when it was there, and says yes: the least that a receiver can do. */
const server = createServer((request, response) => {
  request.resume().on("end", () => {
    const id = String(request.headers["x-service-delivery"]);
    if (!arrivedAtMs.has(id)) arrivedAtMs.set(id, performance.timeOrigin + performance.now());
    response.writeHead(200, { "Content-Length": "0" }).end();
    tellWhenAllAreThere();
  });
});

server.keepAliveTimeout = ALL_WITHIN_MS;
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));

answerQuestions(async (question: ReceiverQuestion): Promise<string | Arrivals | undefined> => {
  switch (question.ask) {
    case "url":
      return `http://127.0.0.1:${(server.address() as AddressInfo).port}/hooks/collections`;
    case "forget":
      arrivedAtMs.clear();
      return undefined;
    case "arrivals":
      await allThere(question.expected);
      return Object.fromEntries(arrivedAtMs);
  }
});

function allThere(expected: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const deadline = setTimeout(
      () => reject(new Error(`${arrivedAtMs.size} of ${expected} events arrived within ${ALL_WITHIN_MS} ms.`)),
      ALL_WITHIN_MS,
    );
    tellWhenAllAreThere = () => {
      if (arrivedAtMs.size < expected) return;
      clearTimeout(deadline);
      resolve();
    };
    tellWhenAllAreThere();
  });
}
