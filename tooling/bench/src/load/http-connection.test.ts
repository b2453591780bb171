import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { sign, signingKey } from "@collections/signing";
import { afterAll, expect, test } from "vitest";
import { HttpConnection, readAnswer } from "./http-connection.ts";
import { signedPost } from "./signed-request.ts";

const signer = { apiKeyId: "lk_1", key: signingKey("secret") };

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    const { authorization, "x-service-timestamp": timestamp, "x-service-signature": signature } = request.headers;
    const body = Buffer.concat(chunks).toString();
    const right = sign({ method: "POST", path: request.url!, timestamp: String(timestamp), body, secret: signer.key });
    const answer = JSON.stringify({ authorization, isSigned: signature === right, body });
    response.writeHead(200, { "Content-Length": Buffer.byteLength(answer) }).end(answer);
  });
});
server.listen(0, "127.0.0.1");
await once(server, "listening");
const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);

afterAll(() => server.close());

test("HttpConnection sends several signed requests on one connection, and the server can parse and verify them", async () => {
  const connection = await HttpConnection.open(url);
  for (const body of ['{"amount":125.5}', '{"borrower":"Ravi ₹"}']) {
    const { status, body: answer } = await connection.send(signedPost(signer, url.host, "/confirm", body, 1_700));
    expect(status).toBe(200);
    expect(JSON.parse(answer)).toEqual({ authorization: "Bearer lk_1", isSigned: true, body });
  }
  connection.close();
});

test("readAnswer returns an answer only when it is complete", () => {
  const whole = Buffer.from("HTTP/1.1 409 Conflict\r\nX-A: 1\r\ncontent-length: 5\r\n\r\nhello");
  for (let length = 0; length < whole.length; length += 1)
    expect(readAnswer(whole.subarray(0, length))).toBeUndefined();
  expect(readAnswer(whole)).toEqual({ status: 409, body: "hello" });
});

test("readAnswer rejects an answer without a Content-Length", () => {
  expect(() => readAnswer(Buffer.from("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"))).toThrow(
    "Content-Length",
  );
});

test("send fails after the server has closed the connection", async () => {
  const connection = await HttpConnection.open(url);
  await connection.send(signedPost(signer, url.host, "/confirm", "{}", 1_700));
  server.closeAllConnections();
  await expect.poll(() => connection.send(Buffer.from("")).catch(String)).toContain("The connection is closed.");
});
