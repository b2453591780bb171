import { once } from "node:events";
import { connect } from "node:net";
import { beforeAll, expect, test } from "vitest";
import { aFieldPartner, startTestService, type TestService } from "../fixtures/fixture.ts";
import { AppClient } from "../fixtures/graphql-client.ts";
import { answersIn } from "../fixtures/raw-socket.ts";

let service: TestService;
let accessToken: string;
let tokenOverLimit: string;

beforeAll(async () => {
  service = await startTestService({ hasWorker: false, settings: { RATE_LIMITS: "app=2" } });
  ({ accessToken } = await aFieldPartner(service));
  ({ accessToken: tokenOverLimit } = await aFieldPartner(service));
  const app = new AppClient(service.url, tokenOverLimit);
  await app.ask("{ viewer { id } }");
  await app.ask("{ viewer { id } }");
});

/** Sends headers and the first byte of a body. Returns the answer once the server has closed the connection. */
async function answerToFirstByte(headers: Record<string, string>) {
  const { hostname, port } = new URL(service.url);
  const socket = connect(Number(port), hostname).on("error", () => {});
  const closed = once(socket, "close");
  const lines = Object.entries({ Host: "service", ...headers }).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`POST /graphql HTTP/1.1\r\n${lines.join("")}\r\n1`);
  const [bytes] = (await once(socket, "data")) as [Buffer];
  const [answer] = answersIn(bytes);
  expect(answer!.headers).toMatchObject({ connection: "close" });
  await closed;
  return answer!;
}

test.each([
  ["more than 16 KiB without a token", "UNAUTHENTICATED", () => ({ "Content-Length": "17000" })],
  [
    "more than 256 KiB with a token",
    "BAD_INPUT",
    () => ({ "Content-Length": "300000", Authorization: `Bearer ${accessToken}` }),
  ],
  [
    "100 bytes over the limit of operations",
    "RATE_LIMITED",
    () => ({ "Content-Length": "100", Authorization: `Bearer ${tokenOverLimit}` }),
  ],
  [
    "chunks over the limit of operations",
    "RATE_LIMITED",
    () => ({ "Transfer-Encoding": "chunked", Authorization: `Bearer ${tokenOverLimit}` }),
  ],
  ["100 bytes of another type", "BAD_INPUT", () => ({ "Content-Length": "100", "Content-Type": "text/plain" })],
])("the connection is closed after an answer that does not wait for the body: %s", async (_, code, headers) => {
  const { body } = await answerToFirstByte({ "Content-Type": "application/json", ...headers() });
  expect(body).toMatchObject({ errors: [{ extensions: { code } }] });
});

test("the connection stays open after a rejected request whose body has arrived", async () => {
  const { headers, errors } = await new AppClient(service.url, tokenOverLimit).ask("{ viewer { id } }");
  expect(errors).toMatchObject([{ extensions: { code: "RATE_LIMITED" } }]);
  expect(headers.get("connection")).not.toBe("close");
});
