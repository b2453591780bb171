import { once } from "node:events";
import { createServer, type IncomingMessage, request as httpRequest, type RequestListener } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { Readable } from "node:stream";
import { afterFile } from "@collections/testing";
import express, { type Express } from "express";
import { describe, expect, test } from "vitest";
import { createReceiver, expressHandler, fetchHandler, type LoanState, MemoryStorage } from "../src/index.ts";
import { anEvent, aWebhook, KEY_ID, PATH, SECRET } from "./signed-webhook.ts";

function aReceiver() {
  const applied: LoanState[] = [];
  const errors: unknown[] = [];
  const receiver = createReceiver<undefined>({
    secrets: { [KEY_ID]: SECRET },
    storage: new MemoryStorage(),
    client: { getCase: () => Promise.reject(new Error("getCase was called although no event is missing.")) },
    apply: ({ state }) => void applied.push(state),
    onError: (error) => errors.push(error),
  });
  return { receiver, applied, errors };
}

async function listening(listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, "127.0.0.1");
  await once(server, "listening");
  afterFile(async () => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function post(url: string, event: object, path = PATH) {
  const { headers, body } = aWebhook(event, { path });
  const response = await fetch(url + path, { method: "POST", headers, body });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

describe("expressHandler in Express", () => {
  const event = anEvent("LN-ü", 1);
  const mounts: [string, (app: Express, handler: express.RequestHandler) => void][] = [
    ["on its route", (app, handler) => app.post(PATH, handler)],
    ["before express.json()", (app, handler) => app.post(PATH, handler).use(express.json())],
    ["in a router", (app, handler) => app.use("/hooks", express.Router().post("/collections", handler))],
    ["behind express.raw()", (app, handler) => app.use(express.raw({ type: () => true })).post(PATH, handler)],
    [
      "behind a body parser for other content types",
      (app, handler) => app.use(express.json({ type: "text/*" })).post(PATH, handler),
    ],
    ["behind a body parser that keeps the raw body", (app, handler) => app.use(keepingRawBody()).post(PATH, handler)],
  ];
  test.each(mounts)("applies an event when the handler is mounted %s", async (_, mount) => {
    const { receiver, applied } = aReceiver();
    const app = express();
    mount(app, expressHandler(receiver));
    expect(await post(await listening(app), event)).toEqual({
      status: 200,
      body: { received: true, outcome: "applied" },
    });
    expect(applied).toMatchObject([{ sourceLoanNumber: "LN-ü", totalCollected: "10.1" }]);
  });

  test.each([
    ["express.json()", express.json()],
    ["express.text()", express.text({ type: () => true })],
  ])("returns an error with instructions if %s has read the body", async (_, parser) => {
    const { receiver, applied, errors } = aReceiver();
    const app = express().use(parser).post(PATH, expressHandler(receiver));
    const answer = await post(await listening(app), event);
    expect(answer).toMatchObject({ status: 500, body: { code: "BODY_ALREADY_PARSED" } });
    expect(answer.body["detail"]).toContain("Mount the receiver before app.use(express.json())");
    expect(errors).toMatchObject([{ code: "BODY_ALREADY_PARSED" }]);
    expect(applied).toEqual([]);
  });
});

describe("expressHandler in node:http", () => {
  test("applies an event, and ignores a query string", async () => {
    const { receiver } = aReceiver();
    const url = await listening((request, response) => void expressHandler(receiver)(request, response));
    expect(await post(url, anEvent("LN-1", 1), `${PATH}?from=us`)).toMatchObject({ status: 200 });
  });

  test("verifies the path of a whole URL that a proxy sends", async () => {
    const { receiver, applied } = aReceiver();
    const url = await listening((request, response) => void expressHandler(receiver)(request, response));
    const { headers, body } = aWebhook(anEvent("LN-1", 1));
    const target = `http://lender.example${PATH}?from=us`;
    const request = httpRequest(url, { method: "POST", path: target, headers });
    const [response] = (await once(request.end(body), "response")) as [IncomingMessage];
    response.resume();
    expect(response.statusCode).toBe(200);
    expect(applied).toHaveLength(1);
  });

  test("answers 413 to an endless body, and stops reading it", async () => {
    const { receiver } = aReceiver();
    const url = await listening((request, response) => void expressHandler(receiver)(request, response));
    const socket = connect(Number(new URL(url).port), "127.0.0.1");
    socket.on("error", () => {});
    socket.write(`POST ${PATH} HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000\r\n\r\n`);
    socket.write("x".repeat(70 * 1024));
    const [chunk] = (await once(socket, "data")) as [Buffer];
    expect(chunk.toString()).toContain("413 Payload Too Large");
    socket.destroy();
  });

  test("does not process a request whose sender disconnects early", async () => {
    const { receiver, errors } = aReceiver();
    const handled: Promise<void>[] = [];
    const url = await listening((request, response) => handled.push(expressHandler(receiver)(request, response)));
    const socket = connect(Number(new URL(url).port), "127.0.0.1");
    socket.write(`POST ${PATH} HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{`);
    await expect.poll(() => handled.length).toBe(1);
    socket.destroy();
    await handled[0];
    expect(errors.filter((error) => (error as { code?: string }).code !== "ECONNRESET")).toEqual([]);
  });
});

describe("fetchHandler", () => {
  const aRequest = (event: object) => new Request(`https://acme.example${PATH}?x=1`, { ...aWebhook(event) });

  test("applies an event", async () => {
    const { receiver, applied } = aReceiver();
    const response = await fetchHandler(receiver)(aRequest(anEvent("LN-1", 1)));
    expect([response.status, await response.json()]).toEqual([200, { received: true, outcome: "applied" }]);
    expect(applied).toHaveLength(1);
  });

  test("returns an error with instructions if the body was read before", async () => {
    const { receiver, errors } = aReceiver();
    const request = aRequest(anEvent("LN-1", 1));
    await request.json();
    const response = await fetchHandler(receiver)(request);
    expect([response.status, await response.json()]).toMatchObject([500, { code: "BODY_ALREADY_PARSED" }]);
    expect(errors).toHaveLength(1);
  });

  test("answers 500 and calls onError if the body ends early", async () => {
    const { receiver, errors } = aReceiver();
    const body = new ReadableStream({ start: (controller) => controller.error(new Error("connection lost")) });
    const init = { method: "POST", body, duplex: "half" } as RequestInit;
    const response = await fetchHandler(receiver)(new Request(`https://acme.example${PATH}`, init));
    expect(response.status).toBe(500);
    expect(errors).toMatchObject([{ message: "connection lost" }]);
  });

  test("answers 413 to an endless body, and 405 to a GET", async () => {
    const { receiver } = aReceiver();
    const endless = Readable.toWeb(Readable.from(endlessly())) as ReadableStream;
    const request = new Request(`https://acme.example${PATH}`, {
      method: "POST",
      body: endless,
      duplex: "half",
    } as RequestInit);
    expect((await fetchHandler(receiver)(request)).status).toBe(413);
    expect((await fetchHandler(receiver)(new Request(`https://acme.example${PATH}`))).status).toBe(405);
  });
});

function keepingRawBody(): express.RequestHandler {
  return express.json({
    verify: (request, _, bytes) => {
      (request as { rawBody?: Buffer }).rawBody = bytes;
    },
  });
}

function* endlessly(): Generator<Buffer> {
  for (;;) yield Buffer.alloc(8 * 1024);
}
