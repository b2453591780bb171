import { expect, test } from "vitest";
import { serializeError } from "./log.ts";

test("errors that came together are told with what each of them says, the first of many", () => {
  const errors = Array.from({ length: 7 }, (_, index) => Object.assign(new Error(`no ${index}`), { code: "TIMEOUT" }));
  expect(serializeError(new AggregateError(errors, "7 of 9 probes could not be made."))).toMatchObject({
    message: "7 of 9 probes could not be made.",
    errors: [0, 1, 2, 3, 4].map((index) => ({ message: `no ${index}`, code: "TIMEOUT" })),
  });
});
