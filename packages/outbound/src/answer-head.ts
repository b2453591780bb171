/** The head of an answer as undici's strict parser reads it, or the reason why it is not HTTP. */
export type ReadHead =
  | { kind: "final"; text: string }
  /** An interim answer, such as 103 Early Hints. The final answer follows. */
  | { kind: "interim" }
  | { kind: "invalid"; problem: string };

/** The head of a usual answer: only an answer that does not match needs a closer look. */
const PLAIN = /^HTTP\/1\.[01] [2-9]\d\d(?: [^\r\n]*)?\r\n(?:[!#$%&'*+\-.^_`|~\w]+:[\t\x20-\x7e\x80-\xff]*\r\n)*\r\n$/;
const FRAMING = /^(?:content-length|transfer-encoding):/gim;
const ONE_LENGTH = /^content-length:[\t ]*\d{1,19}[\t ]*\r$/im;
const STATUS_LINE = /^HTTP\/(\d+)(?:\.(\d+))?[\t ]+([^\t ]*)(?:[\t ]+(.*))?$/;
const HEADER_LINE = /^([!#$%&'*+\-.^_`|~\w]+)[\t ]*:(.*)$/s;
const MAX_LENGTH = 2n ** 64n - 1n;

type Header = [name: string, value: string];

/**
 * Reads the head of an answer, from its status line to the empty line, as Latin-1. Accepts what a client may accept by
 * RFC 9110 and RFC 9112, and writes it in the strict form: lines that end with LF, folded headers, spaces before a
 * colon, control characters in values, equal lengths, and a length beside chunks. A repaired head ends with
 * `Connection: close`, because other software may disagree about the end of such an answer.
 *
 * @example
 * readHead("HTTP/1.1 103 Early Hints\r\n\r\n"); // { kind: "interim" }
 * readHead("HTTP/1.1 200 OK\nContent-Length: 2, 2\n\n"); // a final head with CRLF and one length
 */
export function readHead(text: string): ReadHead {
  if (isPlain(text)) return { kind: "final", text };
  const [statusLine = "", ...lines] = text.replace(/(?:\r?\n){2}$/, "").split(/\r?\n/);
  const status = readStatusLine(statusLine);
  if (typeof status === "string") return invalid(status);
  if (status.code === "101") return invalid("it switches protocols, which was not asked for");
  if (status.code.startsWith("1")) return { kind: "interim" };
  const headers = readHeaders(lines);
  if (typeof headers === "string") return invalid(headers);
  const framed = frameOnce(headers);
  if (typeof framed === "string") return invalid(framed);
  const kept = framed.filter(([name]) => name.toLowerCase() !== "connection");
  const shown = [...kept, ["Connection", "close"]].map(([name, value]) => `${name}: ${value}\r\n`);
  return { kind: "final", text: `HTTP/1.${status.minor} ${status.code} ${status.phrase}\r\n${shown.join("")}\r\n` };
}

/** Most answers of a receiver within a second have equal heads, so the expressions need not examine the same head again. */
let lastPlain = "";

function isPlain(text: string): boolean {
  if (text === lastPlain) return true;
  if (!PLAIN.test(text)) return false;
  const framing = text.match(FRAMING) ?? [];
  const isFramedOnce =
    framing.length === 0 || (framing.length === 1 && (/^t/i.test(framing[0]) || ONE_LENGTH.test(text)));
  if (isFramedOnce) lastPlain = text;
  return isFramedOnce;
}

/** Returns the parts of the status line, or the problem. Its parts may have several spaces between them. */
function readStatusLine(line: string): { minor: "0" | "1"; code: string; phrase: string } | string {
  const [, major, minor, code = "", phrase = ""] = STATUS_LINE.exec(line) ?? [];
  if (major === undefined) return "it has no status line";
  if (major !== "1") return `its version is HTTP/${major}`;
  if (!/^[1-9]\d\d$/.test(code)) return "its status is not a number from 100 to 999";
  return { minor: minor === "0" ? "0" : "1", code, phrase: clean(phrase) };
}

/** Returns the headers, or the problem. A line that begins with a space continues the header before it. */
function readHeaders(lines: readonly string[]): Header[] | string {
  const headers: Header[] = [];
  for (const line of lines) {
    const last = headers.at(-1);
    if (/^[\t ]/.test(line)) {
      // A line before the first header has nothing to continue, and is ignored.
      if (last) last[1] = `${last[1]} ${clean(line)}`.trim();
      continue;
    }
    const [, name, value = ""] = HEADER_LINE.exec(line) ?? [];
    if (name === undefined) {
      return line.includes(":") ? "a header has a name that is not a token" : "a header line has no colon";
    }
    headers.push([name, clean(value)]);
  }
  return headers;
}

/** Returns the headers with one length, or with none beside chunks. Returns the problem if the lengths disagree. */
function frameOnce(headers: readonly Header[]): Header[] | string {
  const isLength = ([name]: Header) => name.toLowerCase() === "content-length";
  const others = headers.filter((header) => !isLength(header));
  // Chunks win over a length.
  if (others.some(([name]) => name.toLowerCase() === "transfer-encoding")) return others;
  const lengths = new Set(headers.filter(isLength).flatMap(([, value]) => value.split(",").map((one) => one.trim())));
  if (lengths.size === 0) return others;
  if ([...lengths].some((length) => !/^\d+$/.test(length))) return "its Content-Length is not a number";
  const values = new Set([...lengths].map(BigInt));
  if (values.size > 1) return "it has two Content-Length values that differ";
  const [length = 0n] = values;
  return length > MAX_LENGTH ? "its Content-Length is too large" : [...others, ["Content-Length", String(length)]];
}

/** Replaces control characters other than tabs by spaces. */
function clean(text: string): string {
  return text.replaceAll(/[^\t\x20-\x7e\x80-\xff]/g, " ").trim();
}

function invalid(problem: string): ReadHead {
  return { kind: "invalid", problem };
}
