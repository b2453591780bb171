import type { Request, Response } from "express";
import { addressOf } from "./address-of.ts";
import type { BodyMemory } from "./body-memory.ts";
import { Problem } from "./problem.ts";
import { closeIfUnread, readBody } from "./read-body.ts";

/** A received body, or why it was refused. */
export type Received = { readonly body: Buffer } | { readonly status: number; readonly problem: string };

/**
 * Returns a function that reads the body of a signed-in person's upload, with the limits that other bodies have. The
 * memory is counted until the request is answered.
 */
export function receiveUpload({ bodyMemory }: { readonly bodyMemory: BodyMemory }) {
  return async (request: Request, response: Response, limitBytes: number): Promise<Received> => {
    const held = bodyMemory.hold(addressOf(request));
    response.once("close", () => held.release());
    try {
      return { body: await readBody(request, { limitBytes, held }) };
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      closeIfUnread(request, response);
      return { status: error.status, problem: error.detail };
    }
  };
}
