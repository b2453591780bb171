import { headerOf, headersIn, type PastedRequest } from "./pasted-request.ts";

const REQUEST_LINE = /^([A-Za-z]+) ((?:\/|https?:\/\/)\S*)(?: HTTP\/[\d.]+)?$/;
const encoder = new TextEncoder();

/**
 * Reads an HTTP request in the form in which it is sent, or from the output of `curl -v`. Returns undefined if the text
 * is not a request.
 */
export function rawRequest(text: string): PastedRequest | undefined {
  const { head, rest } = split(sentLines(text).replace(/^\s+/, ""));
  const [line = "", ...lines] = head.split(/\r?\n/);
  const [, method, target] = REQUEST_LINE.exec(line.trim()) ?? [];
  if (method === undefined || target === undefined || method === "curl") return undefined;
  const headers = headersIn(lines);
  const [, urlHost, path = target] = /^https?:\/\/([^/?#]*)(.*)$/i.exec(target) ?? [];
  const host = urlHost ?? headerOf(headers, "host");
  const { body, note } = bodyOfLength(rest, headerOf(headers, "content-length"));
  return {
    method,
    path: path.startsWith("/") ? path : `/${path}`,
    ...(host !== undefined && { host }),
    headers,
    ...(body !== "" && { body }),
    notes: note === undefined ? [] : [note],
  };
}

/** Returns the lines that `curl -v` reports as sent. Returns any other text unchanged. */
function sentLines(text: string): string {
  const sent = text.split(/\r?\n/).filter((line) => /^> ?/.test(line));
  return sent.length === 0 ? text : sent.map((line) => line.replace(/^> ?/, "")).join("\n");
}

/** Splits at the first empty line, where the head ends. */
function split(text: string): { head: string; rest: string } {
  const [gap] = /\r?\n\r?\n/.exec(text) ?? [];
  if (gap === undefined) return { head: text.trimEnd(), rest: "" };
  const at = text.indexOf(gap);
  return { head: text.slice(0, at), rest: text.slice(at + gap.length) };
}

/** Returns the body. If pasting has changed its line ends, restores those that match Content-Length. */
function bodyOfLength(body: string, contentLength: string | undefined): { body: string; note?: string } {
  const length = Number(contentLength);
  if (contentLength === undefined || bytesOf(body) === length) return { body };
  const candidates = [body.replace(/\r?\n$/, ""), body.replaceAll(/\r?\n/g, "\r\n"), `${body}\n`];
  const restored = candidates.find((candidate) => bytesOf(candidate) === length);
  if (restored !== undefined) return { body: restored };
  return { body, note: `Content-Length is ${length}, but the pasted body has ${bytesOf(body)} bytes.` };
}

function bytesOf(text: string): number {
  return encoder.encode(text).length;
}
