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

test.each(["UPI Collect", "Net Banking", "<script>", "1upi", "übi", "upi;drop", "x".repeat(64), "😀".repeat(64)])(
  "paymentMode keeps the unknown mode %j",
  (text) => {
    const reading = paymentMode(` ${text} `);
    expect(reading).toMatchObject({ mode: "other", rawMode: text });
    expect(reading?.warnings).toMatchObject([
      { code: "UNKNOWN_MODE", detail: expect.stringContaining(text) as string },
    ]);
  },
);

test.each(["", " ", "a\u0000b", "a\nb", "a\u0085b", "\ud800", "x".repeat(65), "😀".repeat(65)])(
  "paymentMode returns undefined for %j",
  (text) => {
    expect(paymentMode(text)).toBeUndefined();
  },
);
