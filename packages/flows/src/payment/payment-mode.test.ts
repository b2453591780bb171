import { expect, test } from "vitest";
import { PAYMENT_MODES, paymentMode } from "./payment-mode.ts";

test.each(PAYMENT_MODES)("paymentMode recognizes %s in upper and lower case", (mode) => {
  expect(paymentMode(mode.toUpperCase())).toEqual({ mode, rawMode: mode.toUpperCase(), warnings: [] });
});

test("a payment with an unknown mode is booked with the mode `other` and the text that was sent", () => {
  const reading = paymentMode("crypto.usdc");
  expect(reading).toMatchObject({ mode: "other", rawMode: "crypto.usdc" });
  expect(reading?.warnings).toMatchObject([{ code: "UNKNOWN_MODE", pointer: "/mode" }]);
});

test.each(["", " ", "<script>", "two words", "1upi", "x".repeat(41), "übi", "upi;drop"])(
  "paymentMode returns undefined for %j",
  (text) => {
    expect(paymentMode(text)).toBeUndefined();
  },
);
