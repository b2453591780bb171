import type { Request, RequestHandler, Response } from "express";
import { answerProblem } from "./error-answers.ts";
import { tooSlow } from "./unreadable-request.ts";

/** The minimum speed at which the body of a request has to arrive. */
export interface Pace {
  everyMs: number;
  /** The bytes that must arrive in each span of `everyMs` until the body is complete. */
  minBytes: number;
}

/** Ends a request whose body arrives too slowly. Thousands of such requests would occupy every connection. */
export function bodyPace(pace: Pace): RequestHandler {
  return (request, response, next) => {
    const { "content-length": length, "transfer-encoding": encoding } = request.headers;
    if (encoding !== undefined || Number(length) > 0) watch(request, response, pace);
    next();
  };
}

function watch(request: Request, response: Response, { everyMs, minBytes }: Pace): void {
  const { socket } = request;
  let before = socket.bytesRead;
  const watching = setInterval(() => {
    const arrived = socket.bytesRead - before;
    before = socket.bytesRead;
    if (request.complete) clearInterval(watching);
    else if (arrived < minBytes) cutOff(request, response);
  }, everyMs).unref();
  response.once("close", () => clearInterval(watching));
}

/** Answers with a problem, or closes the connection if an answer has begun. */
function cutOff(request: Request, response: Response): void {
  if (response.headersSent) response.destroy();
  else answerProblem(tooSlow(), request, response);
}
