import { connect } from "node:net";
import type { Answer } from "@collections/lender-twin";

/** What a server sends to somebody who writes these bytes, until it closes the connection. */
export function received(url: string, bytes: string | Uint8Array): Promise<Buffer> {
  const { hostname, port } = new URL(url);
  const chunks: Buffer[] = [];
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname, () => socket.write(bytes));
    socket.on("data", (chunk) => chunks.push(chunk));
    // A reset connection has said what it had to say.
    socket.on("error", () => {}).on("close", () => resolve(Buffer.concat(chunks)));
  });
}

/** The one answer to these bytes, after which the server closes the connection. */
export async function answerTo(url: string, bytes: string | Uint8Array): Promise<Answer> {
  const [answer, ...more] = answersIn(await received(url, bytes));
  if (!answer || more.length > 0) throw new Error(`${more.length + (answer ? 1 : 0)} answers came instead of one.`);
  return answer;
}

/** Breaks the connection when the answer to these bytes begins to come: what they ask for is done, and nobody knows. */
export function loseAnswer(url: string, bytes: string | Uint8Array): Promise<void> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => socket.write(bytes));
    socket.once("data", () => socket.destroy());
    socket.once("error", reject).once("close", () => resolve());
  });
}

/** Sends these bytes and goes away before anything can come back. */
export function leaveAfter(url: string, bytes: string | Uint8Array): Promise<void> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => socket.write(bytes, () => socket.destroy()));
    socket.once("error", reject).once("close", () => resolve());
  });
}

/** The answers of a connection, one behind the other; each has a Content-Length, no body or the rest for its body. */
export function answersIn(bytes: Buffer): Answer[] {
  const answers: Answer[] = [];
  for (let rest = bytes; rest.length > 0;) {
    const end = rest.indexOf("\r\n\r\n");
    const [statusLine = "", ...lines] = rest.subarray(0, end).toString("latin1").split("\r\n");
    const [, status] = /^HTTP\/1\.1 (\d{3}) /.exec(statusLine) ?? [];
    if (end === -1 || status === undefined) throw new Error(`This is no answer: ${rest.subarray(0, 200).toString()}`);
    const headers = Object.fromEntries(lines.map((line) => line.split(/: ?(.*)/s, 2) as [string, string]).map(lowered));
    rest = rest.subarray(end + 4);
    const length = headers["content-length"];
    const rawBody = rest.subarray(0, length === undefined ? rest.length : Number(length)).toString();
    const body = rawBody.startsWith("{") ? (JSON.parse(rawBody) as Record<string, unknown>) : {};
    answers.push({ status: Number(status), headers, body, rawBody });
    rest = rest.subarray(Buffer.byteLength(rawBody));
  }
  return answers;
}

function lowered([name, value]: [string, string]): [string, string] {
  return [name.toLowerCase(), value];
}
