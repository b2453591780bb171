import type { Request, Response } from "express";
import { GraphQLError } from "graphql";
import type { GraphQLParams } from "graphql-yoga";
import type { BodyMemory } from "../body-memory.ts";
import { addressOf } from "../rate-limits/address-of.ts";
import { readBody } from "../read-body.ts";
import { Problem } from "../rest/problem.ts";
import { badInput, ClientError } from "./client-error.ts";

const RETRY_AFTER_S = 2;

/** Reads a body, which counts in `memory` until it has arrived. Undefined when it has more than `limitBytes`. */
export async function bodyOf(
  { req, res }: { readonly req: Request; readonly res: Response },
  { memory, limitBytes }: { readonly memory: BodyMemory; readonly limitBytes: number },
): Promise<Buffer | undefined> {
  // Node discards a body that nobody reads, after the answer, and the connection stays usable.
  if (Number(req.get("content-length")) > limitBytes) return undefined;
  const held = memory.hold(addressOf(req));
  try {
    return await readBody(req, { limitBytes, held });
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    // The rest of this body is not read, so the connection cannot be used again.
    res.setHeader("Connection", "close");
    if (error.code === "PAYLOAD_TOO_LARGE") return undefined;
    throw asGraphqlError(error);
  } finally {
    held.release();
  }
}

/** Turns what `readBody` refuses with into errors of GraphQL; `answerErrors` knows SERVICE_UNAVAILABLE. */
function asGraphqlError(problem: Problem): Error {
  const { code, detail } = problem;
  if (code === "SERVICE_UNAVAILABLE") return problem;
  return code === "RATE_LIMITED" ? new ClientError(code, detail, { retryAfterS: RETRY_AFTER_S }) : badInput(detail);
}

/** The parameters of an operation in a body. Throws GraphQLError BAD_INPUT. */
export function paramsOf(body: Buffer): GraphQLParams {
  let json: unknown;
  try {
    json = JSON.parse(body.toString());
  } catch {
    // By the specification of GraphQL over HTTP the status is 200 for clients that accept application/json.
    throw unreadable("The body is not JSON.", { spec: true, status: 400 });
  }
  if (typeof json !== "object" || json === null || Array.isArray(json)) {
    throw unreadable('Send one JSON object, such as {"query":"{ viewer { id } }"}; there are no batches.', {
      status: 400,
    });
  }
  return json;
}

export function bodyTooLarge(limitBytes: number): GraphQLError {
  return unreadable(`The body may have ${limitBytes} bytes at most.`, { status: 413 });
}

function unreadable(message: string, http: object): GraphQLError {
  return new GraphQLError(message, { extensions: { code: "BAD_INPUT", http } });
}
