import type { ServerResponse } from "node:http";

/** A fault that a server shows instead of a correct answer. `slow:ms` answers correctly after that time. */
export type Misbehaviour = "error500" | `status:${number}` | "hang" | `slow:${number}` | "redirect" | "drip" | "reset";

const DRIP_INTERVAL_MS = 200;

/**
 * Answers a request with the given fault. Only `slow` calls `properly`, which sends the correct answer, after its
 * delay.
 */
export function misbehave(behaviour: Misbehaviour, response: ServerResponse, properly: () => void): void {
  const [kind, argument] = behaviour.split(":") as [string, string | undefined];
  switch (kind) {
    case "error500":
      return answerStatus(response, 500);
    case "status":
      return answerStatus(response, Number(argument));
    case "hang":
      return;
    case "slow":
      return later(response, Number(argument), properly);
    case "redirect":
      response.setHeader("Location", "/elsewhere");
      return answerStatus(response, 302);
    case "drip":
      return drip(response);
    case "reset":
      response.socket?.resetAndDestroy();
      return;
    default:
      throw new TypeError(`Unknown misbehaviour "${behaviour}".`);
  }
}

function answerStatus(response: ServerResponse, status: number): void {
  response
    .writeHead(status, { "Content-Type": "text/plain" })
    .end(`The lender twin is configured to answer ${status}.`);
}

function later(response: ServerResponse, delayMs: number, properly: () => void): void {
  const timer = setTimeout(properly, delayMs);
  response.on("close", () => clearTimeout(timer));
}

/** Answers 200 with an endless body, one byte at a time, until the client closes the connection. */
function drip(response: ServerResponse): void {
  response.writeHead(200, { "Content-Type": "application/json" }).write("{");
  const timer = setInterval(() => response.write(" "), DRIP_INTERVAL_MS);
  response.on("close", () => clearInterval(timer));
}
