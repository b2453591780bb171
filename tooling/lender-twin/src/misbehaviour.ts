import type { ServerResponse } from "node:http";

/** What a server may do on the wire instead of a proper answer. `slow:ms` answers properly, that much later. */
export type Misbehaviour = "error500" | `status:${number}` | "hang" | `slow:${number}` | "redirect" | "drip" | "reset";

const DRIP_INTERVAL_MS = 200;

/** Plays a misbehaviour on an answer; `properly` is the answer that `slow` still gives. */
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
      throw new TypeError(`There is no misbehaviour "${behaviour}".`);
  }
}

function answerStatus(response: ServerResponse, status: number): void {
  response.writeHead(status, { "Content-Type": "text/plain" }).end(`The lender twin was told to answer ${status}.`);
}

function later(response: ServerResponse, delayMs: number, properly: () => void): void {
  const timer = setTimeout(properly, delayMs);
  response.on("close", () => clearTimeout(timer));
}

/** A 200 whose body never ends, a byte at a time, until the other side has had enough. */
function drip(response: ServerResponse): void {
  response.writeHead(200, { "Content-Type": "application/json" }).write("{");
  const timer = setInterval(() => response.write(" "), DRIP_INTERVAL_MS);
  response.on("close", () => clearInterval(timer));
}
