import { expect, test } from "vitest";
import { PAYMENT_MODES, paymentMode } from "./payment-mode.ts";

test.each(PAYMENT_MODES)("%s is known in upper and lower case", (mode) => {
  expect(paymentMode(mode.toUpperCase())).toEqual({ mode, rawMode: mode.toUpperCase(), warnings: [] });
});

test("an unknown word is booked as other, with the text that was sent", () => {
  const reading = paymentMode("crypto.usdc");
  expect(reading).toMatchObject({ mode: "other", rawMode: "crypto.usdc" });
  expect(reading?.warnings).toMatchObject([{ code: "UNKNOWN_MODE", pointer: "/mode" }]);
});

test.each(["", " ", "<script>", "two words", "1upi", "x".repeat(41), "übi", "upi;drop"])("%j is not a mode", (text) => {
  expect(paymentMode(text)).toBeUndefined();
});
