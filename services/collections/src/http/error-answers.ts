import { isUnavailable, OverloadedError } from "@collections/database";
import { SealedValueError } from "@collections/lenders";
import type { ErrorRequestHandler, NextFunction, Request, Response } from "express";
import type { Logger } from "pino";
import type { Answer } from "./answer.ts";
import { Problem, problemBody, problemHeaders } from "./problem.ts";
import { closeIfUnread } from "./read-body.ts";
import { requestIdOf } from "./request-id.ts";

/** The error handler of Express: answers an error as a problem, whose `type` is below `documentationUrl`. */
export function answerErrors(log: Logger, documentationUrl: string): ErrorRequestHandler {
  return (error: unknown, request: Request, response: Response, _next: NextFunction) => {
    answerProblem(asProblem(error, log, requestIdOf(response)), { request, response, documentationUrl });
  };
}

/** A request that is answered with a problem, and the address of the page that explains the problem. */
interface RefusedRequest {
  readonly request: Request;
  readonly response: Response;
  readonly documentationUrl: string;
}

/** Answers with a problem, unless an answer has begun. */
export function answerProblem(problem: Problem, { request, response, documentationUrl }: RefusedRequest): void {
  const body = problemBody(problem, requestIdOf(response), documentationUrl);
  writeAnswer(request, response, { status: problem.status, body, headers: problemHeaders(problem) });
}

/** Returns the problem to answer for an error. Logs an unexpected error, which becomes INTERNAL_ERROR. */
export function asProblem(error: unknown, log: Logger, requestId: string): Problem {
  if (error instanceof Problem) return error;
  if (error instanceof URIError) {
    return new Problem(
      "MALFORMED_PATH",
      "The path has a % that is not followed by two hexadecimal digits, or bytes that are not UTF-8.",
    );
  }
  if (isUnavailable(error) || error instanceof OverloadedError) {
    log.warn({ requestId, error }, "unavailable");
    return new Problem("SERVICE_UNAVAILABLE", "Repeat the same request, with the same bytes, in a moment.");
  }
  if (error instanceof SealedValueError) {
    const { code, context } = error;
    log.error(
      { requestId, code, context },
      "a secret cannot be decrypted; run collections doctor, which says what to do",
    );
    return new Problem("SERVICE_UNAVAILABLE", "We cannot check this request at the moment. Send it again later.");
  }
  log.error({ requestId, error }, "unexpected error");
  return new Problem("INTERNAL_ERROR", "Repeat the same request; if it happens again, tell us the requestId.");
}

/** Writes an answer, unless one has begun. */
export function writeAnswer(
  request: Request,
  response: Response,
  { status, body, text: given, headers = {} }: Answer,
): void {
  if (response.headersSent || response.destroyed) return;
  response.status(status).setHeader("Cache-Control", "no-store");
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  closeIfUnread(request, response);
  if (body === undefined) {
    response.end();
    return;
  }
  if (!response.hasHeader("Content-Type")) response.setHeader("Content-Type", "application/json");
  // Send the body as a string, because Node writes a string together with the headers. It would write a Buffer
  // separately after them.
  const text = given ?? JSON.stringify(body);
  response.setHeader("Content-Length", Buffer.byteLength(text));
  response.end(text);
}
