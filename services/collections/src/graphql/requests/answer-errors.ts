import { isUnavailable, OverloadedError } from "@collections/database";
import { PothosValidationError } from "@pothos/core";
import { GraphQLError } from "graphql";
import { isAsyncIterable, mapAsyncIterator, type Plugin } from "graphql-yoga";
import type { Logger } from "pino";
import { Problem, RETRY_AFTER_S } from "../../http/problem.ts";
import { requestIdOf } from "../../http/request-id.ts";
import { CLIENT_ERROR_CODES, type ClientErrorCode } from "../plumbing/client-error.ts";
import type { ServerContext } from "../plumbing/caller.ts";

const CODES: ReadonlySet<unknown> = new Set(CLIENT_ERROR_CODES);

/**
 * The last thing that an answer passes, streamed ones too: each error gets its code and the request's id, and of what
 * nobody expected the client sees nothing else.
 */
export function answerErrors(log: Logger): Plugin<object, ServerContext> {
  return {
    onResultProcess({ result, setResult, serverContext }) {
      const requestId = requestIdOf(serverContext.res);
      const answer = <Result extends { data?: unknown; errors?: readonly GraphQLError[] | undefined }>(
        result: Result,
      ) => (result.errors ? { ...result, errors: answered(result, requestId, log) } : result);
      if (isAsyncIterable(result)) setResult(mapAsyncIterator(result, answer));
      else setResult(Array.isArray(result) ? result.map(answer) : answer(result));
    },
  };
}

function answered(
  { data, errors = [] }: { data?: unknown; errors?: readonly GraphQLError[] | undefined },
  requestId: string,
  log: Logger,
): GraphQLError[] {
  return errors.map((error) => {
    const { nodes, path, message } = error;
    const code = codeOf(error);
    const away = code === "INTERNAL" && isPassing(error.originalError);
    if (code === "INTERNAL") logFault(log, away, { requestId, error: error.originalError ?? error, path });
    const retryAfterS = away ? RETRY_AFTER_S : (error.extensions["retryAfterS"] as number | undefined);
    // A status for whoever watches the service from outside: an answer with some data is one.
    const http = (data === undefined ? httpOf(code, retryAfterS) : undefined) ?? error.extensions["http"];
    return new GraphQLError(code === "INTERNAL" ? "Something went wrong here; try again in a moment." : message, {
      ...(nodes && { nodes }),
      ...(path && { path }),
      extensions: {
        code,
        requestId,
        ...(retryAfterS !== undefined && { retryAfterS }),
        ...(http !== undefined && { http }),
      },
    });
  });
}

/** What HTTP says of a bug, of a database that is away for a moment, and of too many operations. */
function httpOf(code: ClientErrorCode, retryAfterS: number | undefined): object | undefined {
  if (retryAfterS === undefined) return code === "INTERNAL" ? { status: 500 } : undefined;
  return { status: code === "INTERNAL" ? 503 : 429, headers: { "Retry-After": String(retryAfterS) } };
}

/** Whether the same request may succeed in a moment: the database is away, or too much is waiting. */
function isPassing(error: unknown): boolean {
  if (isUnavailable(error) || error instanceof OverloadedError) return true;
  return error instanceof Problem && error.code === "SERVICE_UNAVAILABLE";
}

function logFault(log: Logger, away: boolean, facts: object): void {
  if (away) log.warn(facts, "unavailable");
  else log.error(facts, "unexpected error");
}

/**
 * Errors of ours say their code. GraphQL's own are about the request when they come before execution, which gives each
 * error a path; after that they tell of a bug of ours.
 */
export function codeOf(error: GraphQLError): ClientErrorCode {
  const known = [error, error.originalError].find((link) => CODES.has((link as GraphQLError)?.extensions?.code));
  if (known) return (known as GraphQLError).extensions.code as ClientErrorCode;
  if (error.originalError instanceof PothosValidationError) return "BAD_INPUT";
  return error.path === undefined && isOfGraphql(error) ? "BAD_INPUT" : "INTERNAL";
}

function isOfGraphql({ originalError }: GraphQLError): boolean {
  return originalError === undefined || (originalError instanceof GraphQLError && isOfGraphql(originalError));
}
