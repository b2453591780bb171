import type { LookupAddress } from "node:dns";
import type { Socket } from "node:net";
import { expect, test } from "vitest";
import { parseAllowList } from "./allow-list.ts";
import { createCheckedLookup, createGuardedConnector } from "./guarded-connector.ts";
import { resolveBySystem, type ResolvedAddress } from "./name-resolution.ts";
import { openOrigin } from "../tests/scripted-origin.ts";

const PUBLIC_V4 = { address: "93.184.216.34", family: 4 };
const PUBLIC_V6 = { address: "2606:2800:220:1::1", family: 6 };

test("the socket gets exactly the checked addresses, which come from one name resolution", async () => {
  const rebinding = answerInTurn([[PUBLIC_V6, PUBLIC_V4], [{ address: "127.0.0.1", family: 4 }]]);
  expect(await lookUp(rebinding.resolve, true)).toEqual([PUBLIC_V6, PUBLIC_V4]);
  expect(rebinding.asked).toBe(1);
});

test("a socket that asks for one address gets the first checked address", async () => {
  const names = answerInTurn([[PUBLIC_V4, PUBLIC_V6]]);
  expect(await lookUp(names.resolve, false)).toBe(PUBLIC_V4.address);
});

test("a socket returns few bytes in one read, and none after it is destroyed", async () => {
  await using origin = await openOrigin(() => undefined);
  origin.server.once("connection", (accepted) => accepted.write("x".repeat(10_000)));
  const socket = await connectTo(origin.port);
  await expect.poll(() => socket.readableLength).toBe(10_000);
  expect(String(socket.read())).toBe("x".repeat(1_024));
  expect(String(socket.read())).toBe("x".repeat(1_024));
  socket.destroy();
  expect(socket.read()).toBeNull();
});

test("a name without addresses and a failing resolver are both NAME_NOT_RESOLVED with the resolver's code", async () => {
  await expect(lookUp(async () => [], true)).rejects.toMatchObject({ code: "NAME_NOT_RESOLVED", errno: "ENODATA" });
  const failing = async (): Promise<never> => {
    throw Object.assign(new Error("queryA"), { code: "ESERVFAIL" });
  };
  await expect(lookUp(failing, true)).rejects.toMatchObject({ code: "NAME_NOT_RESOLVED", errno: "ESERVFAIL" });
});

function answerInTurn(answers: ResolvedAddress[][]) {
  const names = {
    asked: 0,
    resolve: async (): Promise<ResolvedAddress[]> => {
      names.asked += 1;
      return answers[names.asked - 1] ?? [];
    },
  };
  return names;
}

function lookUp(resolve: () => Promise<ResolvedAddress[]>, all: boolean): Promise<string | LookupAddress[]> {
  return new Promise((settle, reject) => {
    createCheckedLookup(resolve)("rebind.example", { all }, (error, found) => {
      if (error === null) settle(found);
      else reject(error);
    });
  });
}

function connectTo(port: number): Promise<Socket> {
  const connect = createGuardedConnector({
    allow: parseAllowList("127.0.0.1:*"),
    resolvePublic: resolveBySystem,
    resolveListed: resolveBySystem,
    ca: undefined,
  });
  return new Promise((settle, reject) => {
    connect({ hostname: "127.0.0.1", protocol: "http:", port: `${port}` }, (error, socket) => {
      if (error === null) settle(socket);
      else reject(error);
    });
  });
}
