import { createServer, IncomingMessage, ServerResponse } from "node:http";
import express from "express";
import { expect, test } from "vitest";
import { withPrototypesOf } from "./express-prototypes.ts";
import { urlOf } from "./listen.ts";

test("requests and responses have Express's prototypes before Express sees them", async () => {
  const web = express();
  web.post("/echo", express.text(), (request, response) => {
    response.status(201).json({ got: request.body as unknown, type: request.get("content-type") });
  });
  const prototypes: unknown[] = [];
  const server = createServer(withPrototypesOf(web), (request, response) => {
    prototypes.push(Object.getPrototypeOf(request), Object.getPrototypeOf(response));
    expect(request).toBeInstanceOf(IncomingMessage);
    expect(response).toBeInstanceOf(ServerResponse);
    web(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    const url = new URL("/echo", urlOf(server, "127.0.0.1"));
    const answer = await fetch(url, { method: "POST", body: "a body", headers: { "content-type": "text/plain" } });
    expect(answer.status).toBe(201);
    expect(await answer.json()).toEqual({ got: "a body", type: "text/plain" });
  } finally {
    server.close();
  }
  expect(prototypes[0]).toBe(web.request);
  expect(prototypes[1]).toBe(web.response);
});
