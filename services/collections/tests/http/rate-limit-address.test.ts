import type { Socket } from "node:net";
import { expect, test } from "vitest";
import { addressOf } from "../../src/http/address-of.ts";

test.each([
  ["203.0.113.7", "203.0.113.7"],
  ["::ffff:203.0.113.7", "203.0.113.7"],
  ["::FFFF:203.0.113.7", "203.0.113.7"],
  ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
  ["2001:DB8:0001:2::1", "2001:db8:1:2::/64"],
  ["2001:db8::1", "2001:db8:0:0::/64"],
  ["::1", "0:0:0:0::/64"],
  ["::", "0:0:0:0::/64"],
  ["fe80::1%eth0", "fe80:0:0:0::/64"],
  ["1:2:3:4:5:6:7::", "1:2:3:4::/64"],
  ["somebody", "192.0.2.1"],
  ["", "192.0.2.1"],
  [undefined, "192.0.2.1"],
])("rate limits count a client at %j as %s", (ip, counted) => {
  const socket = { remoteAddress: "192.0.2.1" } as Socket;
  expect(addressOf({ ip, socket })).toBe(counted);
});
