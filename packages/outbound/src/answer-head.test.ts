import { expect, test } from "vitest";
import { readHead } from "./answer-head.ts";

const CLOSE = "Connection: close\r\n\r\n";

test.each([
  ["a usual answer", "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\n"],
  ["chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"],
  ["no reason phrase", "HTTP/1.1 204\r\n\r\n"],
  ["an empty value and a tab", "HTTP/1.0 200 OK\r\nX-A:\r\nX-B:\ta\r\nServer: \xe9\r\n\r\n"],
])("readHead leaves %s as it is", (_what, text) => {
  expect(readHead(text)).toEqual({ kind: "final", text });
});

test.each([
  ["lines that end with LF", "HTTP/1.1 200 OK\nX-A: a\n\n", "HTTP/1.1 200 OK\r\nX-A: a\r\n"],
  ["several spaces in the status line", "HTTP/1.1  200\t OK\r\n\r\n", "HTTP/1.1 200 OK\r\n"],
  ["a higher minor version", "HTTP/1.2 200 OK\r\n\r\n", "HTTP/1.1 200 OK\r\n"],
  [
    "a folded header",
    "HTTP/1.1 200 OK\r\nX-A: a\r\n\t b\r\nX-B: c\r\n\r\n",
    "HTTP/1.1 200 OK\r\nX-A: a b\r\nX-B: c\r\n",
  ],
  ["a folded line before the headers", "HTTP/1.1 200 OK\r\n x\r\nX-A: a\r\n\r\n", "HTTP/1.1 200 OK\r\nX-A: a\r\n"],
  ["a space before a colon", "HTTP/1.1 200 OK\r\nX-A : a\r\n\r\n", "HTTP/1.1 200 OK\r\nX-A: a\r\n"],
  ["NUL in a value", "HTTP/1.1 200 OK\r\nX-A: a\0b\r\n\r\n", "HTTP/1.1 200 OK\r\nX-A: a b\r\n"],
  ["CR in a value", "HTTP/1.1 200 OK\r\nX-A: a\rb\r\n\r\n", "HTTP/1.1 200 OK\r\nX-A: a b\r\n"],
  [
    "one length twice",
    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 02\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n",
  ],
  [
    "a list of equal lengths",
    "HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n",
  ],
  [
    "a length beside chunks",
    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\ntransfer-encoding: chunked\r\n\r\n",
    "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n",
  ],
  [
    "keep-alive in a repaired head",
    "HTTP/1.1 200 OK\nConnection: keep-alive\nX-A: a\n\n",
    "HTTP/1.1 200 OK\r\nX-A: a\r\n",
  ],
])("readHead repairs %s, and the connection is not used again", (_what, text, repaired) => {
  expect(readHead(text)).toEqual({ kind: "final", text: repaired + CLOSE });
});

test.each(["100 Continue", "102 Processing", "103 Early Hints", "199 Odd"])("readHead leaves out %s", (status) => {
  expect(readHead(`HTTP/1.1 ${status}\r\nLink: </a>\r\n\r\n`)).toEqual({ kind: "interim" });
});

test.each([
  ["HTTP/2 200 OK\r\n\r\n", "its version is HTTP/2"],
  ["HTTP/1.1 20 OK\r\n\r\n", "its status is not a number from 100 to 999"],
  ["HTTP/1.1 2000 OK\r\n\r\n", "its status is not a number from 100 to 999"],
  ["HTTP/1.1 099 OK\r\n\r\n", "its status is not a number from 100 to 999"],
  ["HTTP/1.1 101 Switching\r\n\r\n", "it switches protocols, which was not asked for"],
  ["HTTP/x 200 OK\r\n\r\n", "it has no status line"],
  ["HTTP/1.1 200 OK\r\nno header\r\n\r\n", "a header line has no colon"],
  ["HTTP/1.1 200 OK\r\nX A: a\r\n\r\n", "a header has a name that is not a token"],
  ["HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", "it has two Content-Length values that differ"],
  ["HTTP/1.1 200 OK\r\nContent-Length: -2\r\n\r\n", "its Content-Length is not a number"],
  ["HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\n", "its Content-Length is not a number"],
  ["HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n", "its Content-Length is too large"],
])("readHead says what is wrong in %j", (text, problem) => {
  expect(readHead(text)).toEqual({ kind: "invalid", problem });
});
