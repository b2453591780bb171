import { expect, test } from "vitest";
import { deliveryErrorOf } from "./delivery-error.ts";

test.each([
  ["HTTP_500: It answered 500: Oops.", { code: "HTTP_500", sentence: "It answered 500: Oops." }],
  ["CODE: two\nlines", { code: "CODE", sentence: "two\nlines" }],
  ["It answered: no.", { code: null, sentence: "It answered: no." }],
  ["", { code: null, sentence: "" }],
])("the error %j is divided into code and sentence", (error, parts) => {
  expect(deliveryErrorOf(error)).toEqual(parts);
});
