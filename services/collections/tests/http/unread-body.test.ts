import { once } from "node:events";
import { connect } from "node:net";
import { beforeAll, expect, test } from "vitest";
import { aLender, startTestService, type TestService } from "../fixtures/fixture.ts";
import { answersIn } from "../fixtures/raw-socket.ts";

const MIB = 1_024 * 1_024;

let service: TestService;
let keyId: string;

beforeAll(async () => {
  service = await startTestService({ hasWorker: false });
  [[keyId]] = [...(await aLender(service)).secrets] as [[string, string]];
});

/** Sends a whole request before it reads anything, as many HTTP clients do. Returns what it then reads. */
async function readAfterSending(head: string, body: Buffer): Promise<Buffer> {
  const { hostname, port } = new URL(service.url);
  const socket = connect(Number(port), hostname).pause();
  const failed = once(socket, "error").then(([error]) => Promise.reject(error as Error));
  await Promise.race([new Promise((sent) => socket.write(head, () => socket.write(body, sent))), failed]);
  const received: Buffer[] = [];
  socket.on("data", (part) => received.push(part)).resume();
  await Promise.race([once(socket, "end"), failed]);
  socket.destroy();
  return Buffer.concat(received);
}

test.each([
  ["an import that is too large", "PAYLOAD_TOO_LARGE", () => keyId, "/api/v1/partner/cases"],
  ["a path that does not exist", "ROUTE_NOT_FOUND", () => keyId, "/api/v1/partner/nothing"],
  ["an app's request that is too large", "BAD_INPUT", () => "invented", "/graphql"],
])("a client that sends 20 MiB before it reads gets the answer to %s", async (_, code, token, path) => {
  const headers = [
    `POST ${path} HTTP/1.1`,
    "Host: service",
    `Authorization: Bearer ${token()}`,
    "Content-Type: application/json",
    `Content-Length: ${20 * MIB}`,
  ];
  const [answer, ...more] = answersIn(
    await readAfterSending(`${headers.join("\r\n")}\r\n\r\n`, Buffer.alloc(20 * MIB)),
  );
  expect(answer!.headers["connection"]).toBe("close");
  expect(answer!.rawBody).toContain(`"${code}"`);
  expect(more).toEqual([]);
});
