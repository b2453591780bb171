import type { IncomingMessage, ServerResponse } from "node:http";
import type { HeldBody } from "./body-memory.ts";
import { Problem } from "./problem.ts";

/** Options for reading a body. */
export interface BodyReading {
  readonly limitBytes: number;
  /** Called with each part as it arrives. */
  readonly onPart?: (part: Buffer) => void;
}

/** The initial size of a body's buffer, unless the whole body is shorter. */
const FIRST_BYTES = 16_384;

/**
 * Reads a request's body to its end and returns it. Memory grows with the bytes that arrive, whatever Content-Length
 * announces, and is counted in `held`.
 * @throws Problem PAYLOAD_TOO_LARGE, MALFORMED_JSON for a connection that ended too early, and the problems of
 * `held.grow`
 */
export async function readBody(
  request: IncomingMessage,
  { limitBytes, onPart, held }: BodyReading & { readonly held: HeldBody },
): Promise<Buffer> {
  const kept = keeper(held, announcedBytes(request) ?? limitBytes);
  await readParts(request, {
    limitBytes,
    onPart(part) {
      onPart?.(part);
      kept.add(part);
    },
    held,
  });
  return kept.body();
}

/**
 * Reads a request's body to its end without keeping it.
 * @throws Problem PAYLOAD_TOO_LARGE, MALFORMED_JSON for a connection that ended too early
 */
export function drainBody(request: IncomingMessage, reading: BodyReading): Promise<void> {
  return readParts(request, reading);
}

/**
 * Closes the connection after the answer if a part of the body has not arrived. That part is read and discarded first:
 * closing a socket that has unread bytes resets the connection, and the client would lose the answer. `bodyPace` closes
 * the connection if the part arrives too slowly, and `HttpTimes.requestMs` limits the whole time.
 */
export function closeIfUnread(request: IncomingMessage, response: ServerResponse): void {
  if (request.complete) return;
  response.setHeader("Connection", "close");
  const { socket } = request;
  // Node calls `destroySoon` after the last answer of a connection.
  socket.destroySoon = () => {
    socket.end();
    request.once("end", () => socket.destroy()).resume();
  };
}

function announcedBytes({ headers }: IncomingMessage): number | undefined {
  const length = headers["content-length"];
  return length === undefined ? undefined : Number(length);
}

/** Calls `onPart` with each part until the body ends, a limit is exceeded or `held` is evicted. */
function readParts(
  request: IncomingMessage,
  { limitBytes, onPart, held }: BodyReading & { readonly held?: HeldBody },
): Promise<void> {
  if ((announcedBytes(request) ?? 0) > limitBytes) return Promise.reject(tooLarge(limitBytes));
  // The client disconnected before its body was read, so no event will be emitted any more.
  if (request.destroyed) return Promise.reject(cutShort());
  return new Promise((resolve, reject) => {
    const { socket } = request;
    let arrivedBytes = 0;
    function onData(part: Buffer): void {
      arrivedBytes += part.length;
      try {
        if (arrivedBytes > limitBytes) throw tooLarge(limitBytes);
        onPart?.(part);
      } catch (error) {
        fail(error);
      }
    }
    function onEnd(): void {
      stop();
      resolve();
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
      socket.off("close", onCutShort);
    }
    if (held) held.onEvicted = fail;
    request.on("data", onData).on("end", onEnd).on("error", onCutShort).on("close", onCutShort);
    // A request that `bodyPace` has answered emits no "close" when its connection is closed.
    socket.on("close", onCutShort);
  });
}

/**
 * Collects the parts of a body in one buffer, whose size doubles when it is full. If each part kept its own buffer,
 * parts of one byte would take 100 times their size.
 */
function keeper(held: HeldBody, mostBytes: number): { add(part: Buffer): void; body(): Buffer } {
  let buffer: Buffer = Buffer.alloc(0);
  let length = 0;
  return {
    add(part) {
      const needed = length + part.length;
      if (length === 0 && needed === mostBytes) {
        // The whole body is in one part, as for nearly every confirmation, so nothing has to be copied.
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
  return new Problem("MALFORMED_JSON", "The connection ended before the body was complete.");
}

/** Returns the problem for a body that is longer than its endpoint accepts. */
export function tooLarge(limitBytes: number): Problem {
  return new Problem("PAYLOAD_TOO_LARGE", `The body may have ${limitBytes} bytes at most.`, { limitBytes });
}
