import type { LookupAddress } from "node:dns";
import { expect, test } from "vitest";
import { createCheckedLookup } from "./guarded-connector.ts";
import type { ResolvedAddress } from "./name-resolution.ts";

const PUBLIC_V4 = { address: "93.184.216.34", family: 4 };
const PUBLIC_V6 = { address: "2606:2800:220:1::1", family: 6 };

test("the socket gets exactly the addresses that were checked, from one resolution", async () => {
  const rebinding = answerInTurn([[PUBLIC_V6, PUBLIC_V4], [{ address: "127.0.0.1", family: 4 }]]);
  expect(await lookUp(rebinding.resolve, true)).toEqual([PUBLIC_V6, PUBLIC_V4]);
  expect(rebinding.asked).toBe(1);
});

test("a socket that wants one address gets the first of the checked", async () => {
  const names = answerInTurn([[PUBLIC_V4, PUBLIC_V6]]);
  expect(await lookUp(names.resolve, false)).toBe(PUBLIC_V4.address);
});

test.each([
  ["loopback", [{ address: "127.0.0.1", family: 4 }]],
  ["a metadata service", [{ address: "169.254.169.254", family: 4 }]],
  ["public and private addresses", [PUBLIC_V4, { address: "10.0.0.7", family: 4 }]],
  ["a public IPv4 and a local IPv6 address", [PUBLIC_V4, { address: "::1", family: 6 }]],
  ["a mapped private address", [{ address: "::ffff:10.0.0.7", family: 6 }]],
  ["a scoped address", [{ address: "fe80::1%eth0", family: 6 }]],
  ["something that is no address", [{ address: "lender.example", family: 4 }]],
])("a name that resolves to %s is refused, and the address is not told", async (_what, addresses) => {
  const names = answerInTurn([addresses]);
  await expect(lookUp(names.resolve, true)).rejects.toThrow("rebind.example resolves to an address that is not public");
  expect(names.asked).toBe(1);
});

test("a name without addresses, and a resolver that fails, are both 'not resolved' with the resolver's code", async () => {
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
