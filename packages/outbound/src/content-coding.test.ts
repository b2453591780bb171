import type { Socket } from "node:net";
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { heldBytes } from "../tests/held-memory.ts";
import { openOrigin } from "../tests/scripted-origin.ts";
import { createOutbound, type OutboundRequest } from "./outbound.ts";

const TEXT = '{"link":{"linkId":"plink_1"}}'.repeat(20);
const PACKED = gzipSync(TEXT);
const MEGABYTE = 1_024 * 1_024;

test.each<[coding: string, body: Buffer]>([
  ["gzip", PACKED],
  ["GZIP", PACKED],
  ["x-gzip", PACKED],
  ["identity, gzip", PACKED],
  ["deflate", deflateSync(TEXT)],
  ["deflate", deflateRawSync(TEXT)],
  ["br", brotliCompressSync(TEXT)],
  ["identity", Buffer.from(TEXT)],
  ["", Buffer.from(TEXT)],
])("a body with the coding %j is decoded", async (coding, body) => {
  const got = await ask((socket) => send(socket, coding, body));
  expect(got).toMatchObject({ kind: "answer", status: 200, bodyCut: false, body: Buffer.from(TEXT) });
  expect(got).toMatchObject({ headers: { "content-encoding": coding } });
});

test("a body without bytes is empty in every coding", async () => {
  expect(await ask((socket) => send(socket, "gzip", Buffer.alloc(0)))).toMatchObject({
    bodyCut: false,
    body: Buffer.alloc(0),
  });
});

test.each(["zstd", "compress", "gzip, gzip"])("the unknown coding %s is named", async (coding) => {
  const got = await ask((socket) => send(socket, coding, PACKED));
  expect(got).toMatchObject({ bodyCut: "unknown_coding", contentCoding: coding, body: Buffer.alloc(0) });
});

test.each<[what: string, body: Buffer]>([
  ["other bytes", Buffer.from(TEXT)],
  ["a part of the body", PACKED.subarray(0, 30)],
])("a gzip body with %s is invalid", async (_what, body) => {
  expect(await ask((socket) => send(socket, "gzip", body))).toMatchObject({
    bodyCut: "invalid_coding",
    contentCoding: "gzip",
  });
});

test("a compressed body that breaks off keeps its first bytes", async () => {
  const head = `HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: ${PACKED.length}\r\n\r\n`;
  const got = await ask((socket) => socket.end(Buffer.concat([Buffer.from(head), PACKED.subarray(0, -10)])));
  expect(got).toMatchObject({ bodyCut: "broken" });
  expect(got.kind === "answer" && TEXT.startsWith(got.body.toString())).toBe(true);
});

test("a compressed body that stops is cut at the deadline", async () => {
  const head = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 9999\r\n\r\n";
  const got = await ask((socket) => socket.write(Buffer.concat([Buffer.from(head), PACKED])), { timeoutMs: 500 });
  expect(got).toMatchObject({ bodyCut: "deadline" });
});

test.each<[coding: string, bomb: Buffer]>([
  ["gzip", gzipSync(Buffer.alloc(50 * MEGABYTE, "y"))],
  ["br", brotliCompressSync(Buffer.alloc(50 * MEGABYTE, "y"))],
  ["deflate", deflateSync(Buffer.alloc(50 * MEGABYTE, "y"))],
])("the size limit counts the decoded bytes of a bomb in %s", async (coding, bomb) => {
  const before = await heldBytes();
  const got = await ask((socket) => send(socket, coding, bomb));
  expect(got).toMatchObject({ bodyCut: "too_large", body: Buffer.alloc(65_536, "y") });
  await expect.poll(async () => (await heldBytes()) - before).toBeLessThan(4_000_000);
});

test("a compressed body of exactly maxBodyBytes is returned in full", async () => {
  const body = gzipSync(Buffer.alloc(1_000, "x"));
  const request = { maxBodyBytes: 1_000 };
  expect(await ask((socket) => send(socket, "gzip", body), request)).toMatchObject({
    bodyCut: false,
    body: Buffer.alloc(1_000, "x"),
  });
});

test("an endless body that decodes to nothing is too large", async () => {
  const emptyBlocks = Buffer.alloc(100_000, Buffer.from([0, 0, 0, 0xff, 0xff]));
  const body = Buffer.concat([gzipSync("").subarray(0, 10), emptyBlocks]);
  expect(await ask((socket) => send(socket, "gzip", body))).toMatchObject({ bodyCut: "too_large" });
});

function send(socket: Socket, coding: string, body: Buffer): void {
  const head = `HTTP/1.1 200 OK\r\nContent-Encoding: ${coding}\r\nContent-Length: ${body.length}\r\n\r\n`;
  socket.write(Buffer.concat([Buffer.from(head), body]));
}

async function ask(script: (socket: Socket) => unknown, request: Partial<OutboundRequest> = {}) {
  await using origin = await openOrigin((socket) => void script(socket));
  const outbound = createOutbound({ allow: "127.0.0.1:*" });
  const got = await outbound.request({ method: "POST", url: origin.url, body: "{}", timeoutMs: 300_000, ...request });
  await outbound.close();
  return got;
}
