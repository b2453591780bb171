import { expect, test } from "vitest";
import { forbiddenRange } from "./address-rule.ts";
import { hostileAddresses } from "../tests/hostile-list.ts";

test.each([
  "8.8.8.8",
  "93.184.216.34",
  "172.15.255.255",
  "172.32.0.1",
  "100.63.255.255",
  "100.128.0.1",
  "2606:4700:4700::1111",
  "2a00:1450:4009::200e",
  "2001:470:1::5eff:808:808",
  "::ffff:8.8.8.8",
  "64:ff9b::808:808",
])("%s is public", (address) => {
  expect(forbiddenRange(address)).toBeNull();
});

test.each(hostileAddresses)("%j (%s) is rejected: %s", (address, _what, range) => {
  expect(forbiddenRange(address)).toBe(range);
});
