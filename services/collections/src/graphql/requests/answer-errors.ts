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
 * Rewrites the errors of each answer, including streamed answers, as the last step. Each error gets its code and the id
 * of the request. An unexpected error gets a general message.
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
    const isTemporary = code === "INTERNAL" && isUnavailability(error.originalError);
    if (code === "INTERNAL") logError(log, isTemporary, { requestId, error: error.originalError ?? error, path });
    const retryAfterS = isTemporary ? RETRY_AFTER_S : (error.extensions["retryAfterS"] as number | undefined);
    // Only an answer without data gets an HTTP error status. Monitoring and proxies see that status.
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

/** Returns the HTTP status for a bug (500), an unavailable database (503) and too many operations (429). */
function httpOf(code: ClientErrorCode, retryAfterS: number | undefined): object | undefined {
  if (retryAfterS === undefined) return code === "INTERNAL" ? { status: 500 } : undefined;
  return { status: code === "INTERNAL" ? 503 : 429, headers: { "Retry-After": String(retryAfterS) } };
}

/**
 * Whether the same request may succeed in a moment, because the database is unavailable or too many requests wait for
 * it.
 */
function isUnavailability(error: unknown): boolean {
  if (isUnavailable(error) || error instanceof OverloadedError) return true;
  return error instanceof Problem && error.code === "SERVICE_UNAVAILABLE";
}

function logError(log: Logger, isTemporary: boolean, facts: object): void {
  if (isTemporary) log.warn(facts, "unavailable");
  else log.error(facts, "unexpected error");
}

/**
 * Returns the code of an error. Errors of this service have one. A GraphQL error without a path occurred before the
 * execution, so the request is wrong. A GraphQL error with a path is a bug of this service.
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
