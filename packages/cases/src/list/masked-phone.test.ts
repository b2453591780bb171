import { expect, test } from "vitest";
import { maskedPhone } from "./masked-phone.ts";

test.each([
  ["+919800000001", "98•••••001"],
  ["+14155550123", "41•••••123"],
  ["+4930123456", "••••••56"],
  ["+49301234567", "30••••567"],
  ["+2904123", "••23"],
])("maskedPhone(%s) is %s, without the country code", (phone, masked) => {
  expect(maskedPhone(phone)).toBe(masked);
});
