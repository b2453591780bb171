import { expect, test } from "vitest";
import { serializeError } from "./log.ts";

test("logs the first five errors of an AggregateError, each with its message and code", () => {
  const errors = Array.from({ length: 7 }, (_, index) => Object.assign(new Error(`no ${index}`), { code: "TIMEOUT" }));
  expect(serializeError(new AggregateError(errors, "7 of 9 probes could not be made."))).toMatchObject({
    message: "7 of 9 probes could not be made.",
    errors: [0, 1, 2, 3, 4].map((index) => ({ message: `no ${index}`, code: "TIMEOUT" })),
  });
});
