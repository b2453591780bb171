import { newId, publicId } from "@collections/database";
import type { Response } from "express";

/** The prefix of the `X-Request-Id`. */
export const REQUEST_ID_PREFIX = "req";

/** Returns the `X-Request-Id` of an answer. Creates it at the first call, even if no endpoint takes the request. */
export function requestIdOf(response: Response): string {
  const given = response.getHeader("X-Request-Id");
  if (typeof given === "string") return given;
  const requestId = publicId(REQUEST_ID_PREFIX, newId());
  response.setHeader("X-Request-Id", requestId);
  return requestId;
}
