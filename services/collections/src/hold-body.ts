import type { Request, RequestHandler } from "express";
import type { BodyMemory } from "./body-memory.ts";
import { addressOf } from "./rate-limits/address-of.ts";
import { answerProblem } from "./rest/server.ts";

/** Counts the body that a later handler reads by itself, at its announced length, until it has arrived. */
export function holdBody(memory: BodyMemory, limitBytes: number): RequestHandler {
  return (request, response, next) => {
    const bytes = announcedBytes(request, limitBytes);
    if (bytes === 0) return next();
    const held = memory.hold(addressOf(request));
    held.onEvicted = (problem) => answerProblem(problem, request, response);
    held.grow(bytes);
    request.once("end", held.release).once("close", held.release);
    next();
  };
}

function announcedBytes({ headers }: Request, limitBytes: number): number {
  if (headers["transfer-encoding"] !== undefined) return limitBytes;
  return Math.min(Number(headers["content-length"] ?? 0), limitBytes);
}
