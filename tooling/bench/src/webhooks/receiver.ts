import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { answerQuestions } from "../load/child.ts";

/**
 * The commands to the process that receives events. It has a callback `prompt`, which answers at once, and a callback
 * `slow`. Only the arrivals at `prompt` are recorded, and only the first arrival of each delivery.
 */
export type ReceiverQuestion =
  | { readonly ask: "callbacks" }
  /**
   * Resolves as soon as `expected` deliveries have arrived since the last command `forget`. Returns their arrival
   * times.
   */
  | { readonly ask: "arrivals"; readonly expected: number }
  | { readonly ask: "forget" }
  /** From now on, the callback `prompt` delays one of every `oneOf` answers. With 0 it delays none. */
  | { readonly ask: "straggle"; readonly oneOf: number; readonly delayMs: number }
  /** From now on, the callback `slow` delays each answer. With 0 it also answers the requests that already wait. */
  | { readonly ask: "answerAfter"; readonly delayMs: number }
  /** Resolves as soon as a request at the callback `slow` waits for its answer. */
  | { readonly ask: "keptWaiting" };

/** The URLs of the receiver's two callbacks. `prompt` answers at once, `slow` can be slow. */
export interface Callbacks {
  readonly prompt: string;
  readonly slow: string;
}

/** The first arrival of each delivery by its id, in milliseconds since 1970 with microsecond precision. */
export type Arrivals = Readonly<Record<string, number>>;

const PROMPT_PATH = "/hooks/prompt";
const SLOW_PATH = "/hooks/slow";
const ALL_WITHIN_MS = 120_000;

const arrivedAtMs = new Map<string, number>();
const keptWaiting = new Map<ServerResponse, NodeJS.Timeout>();
let answerAfterMs = 0;
let stragglers = { oneOf: 0, delayMs: 0 };
let answered = 0;
let onArrival = (): void => {};

/** Accepts an event, records its time and answers 200: the minimum work of a receiver. */
const server = createServer((request, response) => {
  request.resume().on("end", () => {
    if (request.url === SLOW_PATH) {
      answerLater(response);
    } else {
      const id = String(request.headers["x-service-delivery"]);
      if (!arrivedAtMs.has(id)) arrivedAtMs.set(id, performance.timeOrigin + performance.now());
      acceptOrStraggle(response);
    }
    onArrival();
  });
});

server.keepAliveTimeout = ALL_WITHIN_MS;
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));

answerQuestions(async (question: ReceiverQuestion): Promise<Callbacks | Arrivals | undefined> => {
  switch (question.ask) {
    case "callbacks":
      return callbacks();
    case "arrivals":
      await until(() => arrivedAtMs.size >= question.expected);
      return Object.fromEntries(arrivedAtMs);
    case "forget":
      arrivedAtMs.clear();
      return undefined;
    case "straggle":
      stragglers = question;
      return undefined;
    case "answerAfter":
      answerAfter(question.delayMs);
      return undefined;
    case "keptWaiting":
      await until(() => keptWaiting.size > 0);
      return undefined;
  }
});

function callbacks(): Callbacks {
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { prompt: origin + PROMPT_PATH, slow: origin + SLOW_PATH };
}

function accept(response: ServerResponse): void {
  response.writeHead(200, { "Content-Length": "0" }).end();
}

function acceptOrStraggle(response: ServerResponse): void {
  answered += 1;
  const straggles = stragglers.oneOf > 0 && answered % stragglers.oneOf === 0;
  if (straggles) setTimeout(accept, stragglers.delayMs, response);
  else accept(response);
}

function answerLater(response: ServerResponse): void {
  if (answerAfterMs === 0) return accept(response);
  keptWaiting.set(
    response,
    setTimeout(() => {
      keptWaiting.delete(response);
      accept(response);
    }, answerAfterMs),
  );
}

function answerAfter(delayMs: number): void {
  answerAfterMs = delayMs;
  if (delayMs > 0) return;
  for (const [response, timer] of keptWaiting) {
    clearTimeout(timer);
    accept(response);
  }
  keptWaiting.clear();
}

function until(isTrue: () => boolean): Promise<void> {
  return new Promise((resolve, reject) => {
    const deadline = setTimeout(
      () => reject(new Error(`Only ${arrivedAtMs.size} events arrived within ${ALL_WITHIN_MS} ms.`)),
      ALL_WITHIN_MS,
    );
    onArrival = () => {
      if (!isTrue()) return;
      clearTimeout(deadline);
      onArrival = () => {};
      resolve();
    };
    onArrival();
  });
}
