import { expect, test } from "vitest";
import type { SignedRequest } from "./signed-request.ts";
import { idOfRequest } from "./same-request.ts";

test("derives the same request id as earlier versions, with and without a query string", () => {
  const headers = { "x-service-signature": "BD00db74ca43bdb980b5b174a9d9e4147b2c959ced8a1bea6696d023f483d70b" };
  const ids = ["", "dryRun"].map((query) =>
    idOfRequest({ keyId: "lk_1", headers, query: new URLSearchParams(query) } as unknown as SignedRequest),
  );
  expect(new Set(ids)).toEqual(new Set(["fd73b987-8f2e-88e7-a437-c3414f1b2fe3"]));
});
