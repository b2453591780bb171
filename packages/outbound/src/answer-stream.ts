import { readHead } from "./answer-head.ts";
import type { OpenedSocket } from "./open-socket.ts";

/** The maximum number of bytes that one read of a socket returns: see `readAnswers`. */
const MAX_READ_BYTES = 1_024;
/** A longer head is not repaired. Undici then counts its headers, and ends the answer. */
const MAX_REPAIRED_BYTES = 16_384;
const START = Buffer.from("HTTP/");
const NOTHING = Buffer.alloc(0);

/** An answer is not HTTP/1.1. `problem` completes the sentence "The answer was not valid HTTP: …". */
export class InvalidAnswerError extends Error {
  readonly code = "INVALID_ANSWER";
  readonly problem: string;

  constructor(problem: string) {
    super(`not valid HTTP: ${problem}`);
    this.name = "InvalidAnswerError";
    this.problem = problem;
  }
}

/**
 * Changes what undici reads from a socket. Interim answers are left out, and the head of each answer arrives as
 * `readHead` writes it. An invalid head destroys the socket with `InvalidAnswerError`.
 *
 * One read returns few bytes, and none once the socket is destroyed. Undici parses each read to its end, even after too
 * many headers, and creates an error for each further header. A read of 64 KiB would block this process for 0.5 s.
 */
export function readAnswers({ socket, watch }: OpenedSocket): void {
  const read = socket.read.bind(socket) as (size: number) => Buffer | null;
  const write = socket.write.bind(socket) as (...parts: unknown[]) => boolean;
  /** The bytes of a head whose end has not arrived. Undefined while a body is read, or no request is running. */
  let head: Buffer | undefined;
  /** Bytes that undici has not read yet. */
  let ready: Buffer = NOTHING;

  // Undici writes a request in one turn of the event loop, and the next request only after the end of the answer.
  socket.write = (...parts: unknown[]) => {
    head ??= NOTHING;
    return write(...parts);
  };

  socket.read = function readSome(size = MAX_READ_BYTES): Buffer | null {
    for (;;) {
      if (socket.destroyed) return null;
      if (ready.length > 0) return takeReady(size);
      const chunk = read(Math.min(size, socket.readableLength));
      if (chunk === null) return null;
      watch.noteAnswer();
      if (head === undefined) return chunk;
      addToHead(head.length === 0 ? chunk : Buffer.concat([head, chunk]));
    }
  };

  function takeReady(size: number): Buffer {
    const taken = ready.subarray(0, size);
    ready = ready.subarray(taken.length);
    return taken;
  }

  function addToHead(received: Buffer): void {
    // Empty lines before the status line are ignored.
    const bytes = received.subarray(startOf(received));
    const end = endOf(bytes);
    if (end === undefined) {
      const isHttp = START.subarray(0, bytes.length).equals(bytes.subarray(0, START.length));
      // A slice would keep the whole buffer of the network read in memory.
      if (isHttp && bytes.length <= MAX_REPAIRED_BYTES) head = Buffer.from(bytes);
      else pass(bytes);
      return;
    }
    const text = bytes.toString("latin1", 0, end);
    const answer = readHead(text);
    if (answer.kind === "invalid") return void socket.destroy(new InvalidAnswerError(answer.problem));
    if (answer.kind === "interim") return addToHead(bytes.subarray(end));
    if (answer.text === text) return pass(bytes);
    pass(Buffer.concat([Buffer.from(answer.text, "latin1"), bytes.subarray(end)]));
  }

  function pass(bytes: Buffer): void {
    head = undefined;
    ready = bytes;
  }
}

function startOf(bytes: Buffer): number {
  let start = 0;
  while (
    bytes[start] === 0x0a ||
    (bytes[start] === 0x0d && (start + 1 === bytes.length || bytes[start + 1] === 0x0a))
  ) {
    start += 1;
  }
  return start;
}

/** Returns the index after the first empty line, whose line ends are CRLF or LF. */
function endOf(bytes: Buffer): number | undefined {
  for (let at = bytes.indexOf(0x0a); at !== -1; at = bytes.indexOf(0x0a, at + 1)) {
    if (bytes[at + 1] === 0x0a) return at + 2;
    if (bytes[at + 1] === 0x0d && bytes[at + 2] === 0x0a) return at + 3;
  }
  return undefined;
}
