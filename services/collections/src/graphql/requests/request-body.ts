import type { Request } from "express";
import { GraphQLError } from "graphql";
import type { GraphQLParams } from "graphql-yoga";
import type { BodyMemory } from "../../http/body-memory.ts";
import { addressOf } from "../../http/address-of.ts";
import { readBody, tooLarge } from "../../http/read-body.ts";
import { Problem, RETRY_AFTER_S } from "../../http/problem.ts";
import { badInput, ClientError } from "../plumbing/client-error.ts";

/**
 * Reads the body of a request. While the body arrives, its bytes count towards the limits of `memory`. Returns
 * undefined if the body exceeds `limitBytes`.
 */
export async function bodyOf(
  req: Request,
  { memory, limitBytes }: { readonly memory: BodyMemory; readonly limitBytes: number },
): Promise<Buffer | undefined> {
  if (Number(req.get("content-length")) > limitBytes) return undefined;
  const held = memory.hold(addressOf(req));
  try {
    return await readBody(req, { limitBytes, held });
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    if (error.code === "PAYLOAD_TOO_LARGE") return undefined;
    throw asGraphqlError(error);
  } finally {
    held.release();
  }
}

/**
 * Turns a problem of `readBody` into a GraphQL error. Returns SERVICE_UNAVAILABLE as it is: `answerErrors` handles it.
 */
function asGraphqlError(problem: Problem): Error {
  const { code, detail } = problem;
  if (code === "SERVICE_UNAVAILABLE") return problem;
  return code === "RATE_LIMITED" ? new ClientError(code, detail, { retryAfterS: RETRY_AFTER_S }) : badInput(detail);
}

/** Returns the parameters of the operation in a body. Throws GraphQLError BAD_INPUT. */
export function paramsOf(body: Buffer): GraphQLParams {
  let json: unknown;
  try {
    json = JSON.parse(body.toString());
  } catch {
    // `spec`: clients that accept application/json get status 200, as the specification of GraphQL over HTTP demands.
    throw unreadable("The body is not JSON.", { spec: true, status: 400 });
  }
  if (typeof json !== "object" || json === null || Array.isArray(json)) {
    throw unreadable('Send one JSON object, such as {"query":"{ viewer { id } }"}; there are no batches.', {
      status: 400,
    });
  }
  return json;
}

/** Returns the error for a body that exceeds the limit, for which `bodyOf` returned undefined. */
export function bodyTooLarge(limitBytes: number): GraphQLError {
  return unreadable(tooLarge(limitBytes).detail, { status: 413 });
}

function unreadable(message: string, http: object): GraphQLError {
  return new GraphQLError(message, { extensions: { code: "BAD_INPUT", http } });
}
