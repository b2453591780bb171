import type { IncomingMessage } from "node:http";
import type { HeldBody } from "./body-memory.ts";
import { Problem } from "./rest/problem.ts";

/** How a body is read. */
export interface BodyReading {
  readonly limitBytes: number;
  /** Sees each part before it is kept. */
  readonly onPart?: (part: Buffer) => void;
  /** Where the memory of the body is counted. Without it the body is read, but not kept: an empty one is returned. */
  readonly held?: HeldBody | undefined;
}

/** The buffer that a body begins with, unless the whole body is shorter. */
const FIRST_BYTES = 16_384;

/**
 * Reads a request's body to its end. Memory is taken as bytes arrive, not as many as are announced.
 * @throws Problem PAYLOAD_TOO_LARGE, MALFORMED_JSON for a connection that ended too early, and what `held` refuses with
 */
export function readBody(request: IncomingMessage, { limitBytes, onPart, held }: BodyReading): Promise<Buffer> {
  const announced = request.headers["content-length"];
  const mostBytes = announced === undefined ? limitBytes : Number(announced);
  if (mostBytes > limitBytes) return Promise.reject(tooLarge(limitBytes));
  // The client went away while its key was looked up: no event will tell.
  if (request.destroyed) return Promise.reject(cutShort());
  const kept = held && keeper(held, mostBytes);
  return new Promise((resolve, reject) => {
    let arrivedBytes = 0;
    function onData(part: Buffer): void {
      arrivedBytes += part.length;
      try {
        if (arrivedBytes > limitBytes) throw tooLarge(limitBytes);
        onPart?.(part);
        kept?.add(part);
      } catch (error) {
        fail(error);
      }
    }
    function onEnd(): void {
      stop();
      resolve(kept?.body() ?? Buffer.alloc(0));
    }
    function onCutShort(): void {
      fail(cutShort());
    }
    function fail(error: unknown): void {
      stop();
      request.pause();
      reject(error);
    }
    function stop(): void {
      request.off("data", onData).off("end", onEnd).off("error", onCutShort).off("close", onCutShort);
    }
    if (held) held.onEvicted = fail;
    request.on("data", onData).on("end", onEnd).on("error", onCutShort).on("close", onCutShort);
  });
}

/** Copies parts into one buffer that doubles. Kept as they are, parts of one byte each would take 100 times their size. */
function keeper(held: HeldBody, mostBytes: number): { add(part: Buffer): void; body(): Buffer } {
  let buffer: Buffer = Buffer.alloc(0);
  let length = 0;
  return {
    add(part) {
      const needed = length + part.length;
      if (length === 0 && needed === mostBytes) {
        // The whole body in one part, as nearly every confirmation arrives: nothing to copy.
        held.grow(needed);
        buffer = part;
      } else {
        if (needed > buffer.length) {
          const capacity = Math.min(mostBytes, Math.max(needed, 2 * buffer.length, FIRST_BYTES));
          held.grow(capacity);
          const larger = Buffer.allocUnsafeSlow(capacity);
          buffer.copy(larger, 0, 0, length);
          buffer = larger;
        }
        part.copy(buffer, length);
      }
      length = needed;
    },
    body: () => buffer.subarray(0, length),
  };
}

function cutShort(): Problem {
  return new Problem("MALFORMED_JSON", "The connection ended before the body did.");
}

/** The refusal of a body that is longer than its endpoint takes. */
export function tooLarge(limitBytes: number): Problem {
  return new Problem("PAYLOAD_TOO_LARGE", `The body may have ${limitBytes} bytes at most.`, { limitBytes });
}
