import type { Request, RequestHandler, Response } from "express";
import { answerProblem } from "./error-answers.ts";
import { tooSlow } from "./unreadable-request.ts";

/** The minimum speed at which the body of a request has to arrive. */
export interface Pace {
  everyMs: number;
  /** The bytes that must arrive in each span of `everyMs` until the body is complete. */
  minBytes: number;
}

/**
 * Ends a request whose body arrives too slowly. Thousands of such requests would occupy every connection. The `type` of
 * the answer is below `documentationUrl`.
 */
export function bodyPace(pace: Pace, documentationUrl: string): RequestHandler {
  return (request, response, next) => {
    const { "content-length": length, "transfer-encoding": encoding } = request.headers;
    if (encoding !== undefined || Number(length) > 0) {
      watch(request, response, pace, () => cutOff(request, response, documentationUrl));
    }
    next();
  };
}

/** Calls `cutOff` once the body arrives more slowly than the pace. */
function watch(request: Request, response: Response, { everyMs, minBytes }: Pace, cutOff: () => void): void {
  const { socket } = request;
  let before = socket.bytesRead;
  function check(): void {
    const arrived = socket.bytesRead - before;
    before = socket.bytesRead;
    if (request.complete || socket.destroyed) clearInterval(watching);
    else if (arrived < minBytes) cutOff();
  }
  // If the process was busy for a long time, the timer fires before the bytes that have arrived are read. They are read
  // before `setImmediate` calls the check.
  const watching = setInterval(() => setImmediate(check), everyMs).unref();
  // If a request is answered before its body is complete, the rest of the body is discarded (see `closeIfUnread`). The
  // rest has to arrive at the minimum speed too, so keep checking after the answer.
  response.once("close", () => {
    if (request.complete) clearInterval(watching);
  });
}

/** Answers with a problem, or closes the connection if an answer has begun. */
function cutOff(request: Request, response: Response, documentationUrl: string): void {
  if (response.headersSent) request.socket.destroy();
  else answerProblem(tooSlow(), { request, response, documentationUrl });
}
