import { parseAllowList } from "@collections/outbound";
import { describe, expect, test } from "vitest";
import { checkLinkUrl } from "./link-url.ts";

const LIVE = { allow: parseAllowList(""), hosts: [] };
const PINNED = { ...LIVE, hosts: ["pay.acme.example", "links.acme.example:8443"] };

describe("checkLinkUrl", () => {
  test.each([
    ["https://pay.acme.example/l/4c1", "https://pay.acme.example/l/4c1"],
    ["https://pay.acme.example/l/%E2%82%B9?x=%20#a", "https://pay.acme.example/l/%E2%82%B9?x=%20#a"],
    ["HTTPS://Pay.ACME.example:443/l", "https://pay.acme.example/l"],
    ["https://pay.acme.example", "https://pay.acme.example/"],
    ["https://pay.acme.example/a/../../l", "https://pay.acme.example/l"],
    ["https://pay.acme.example/a/%2e%2e/l", "https://pay.acme.example/l"],
    ["https://p%61y.acme.example/l", "https://pay.acme.example/l"],
    ["https://p%C3%A4y.example/l", "https://xn--py-via.example/l"],
    ["https://xn--py-via.example/l", "https://xn--py-via.example/l"],
    ["https://0x08080808/l", "https://8.8.8.8/l"],
  ])("turns %s into the canonical URL %s", (text, url) => {
    expect(checkLinkUrl(text, LIVE)).toEqual({ ok: true, url });
    expect(checkLinkUrl(url, LIVE)).toEqual({ ok: true, url });
  });
});

test.each([
  "http://pay.acme.example/l",
  "https://bank.example@evil.example/",
  "https://bank.example:secret@evil.example/",
  "https://@evil.example/",
  "https://bank.example%40evil.example/",
  "https://bank.example\\@evil.example/",
  "https://pay.acme.example./l",
  "https://localhost/l",
  "https://localhost./l",
  "https://pay/l",
  "https://pay.local/l",
  "https://pay.INTERNAL/l",
  "https://10.0.0.1/l",
  "https://167772161/l",
  "https://0xa.1/l",
  "https://012.0.0.1/l",
  "https://127.1/l",
  "https://%31%32%37.0.0.1/l",
  "https://169.254.169.254/latest",
  "https://[::1]/l",
  "https://[::ffff:10.0.0.1]/l",
  "https://[::ffff:a00:1]/l",
  "https://[64:ff9b::a00:1]/l",
  "https://[fd00::1]/l",
  "https://pay.acme.example/l\u200bx",
  "https://pay.acme.example/\u202el",
  "https://p\u0430y.acme.example/l",
  "https://pay.acme.example/a b",
  "https://pay.acme.example/\ta",
  " https://pay.acme.example/a",
  `https://pay.acme.example/${'"'.repeat(1_000)}`,
])("checkLinkUrl rejects %j outside a sandbox", (text) => {
  expect(checkLinkUrl(text, LIVE)).toEqual({ ok: false, reason: expect.stringMatching(/^[A-Z].*\.$/) });
});

describe("with registered payment-link hosts, checkLinkUrl", () => {
  test.each(["https://pay.acme.example/l", "https://PAY.acme.example:443/l", "https://links.acme.example:8443/l"])(
    "accepts %s",
    (text) => {
      expect(checkLinkUrl(text, PINNED)).toMatchObject({ ok: true });
    },
  );

  test.each([
    "https://pay.acme.example.evil.example/l",
    "https://evil.example/pay.acme.example",
    "https://www.pay.acme.example/l",
    "https://pay.acme.example:8443/l",
    "https://links.acme.example/l",
    "https://evil.example/?https://pay.acme.example/",
  ])("rejects %s", (text) => {
    const reason = expect.stringMatching(/is not among the lender's payment-link hosts: pay\.acme\.example, links/);
    expect(checkLinkUrl(text, PINNED)).toEqual({ ok: false, reason });
  });
});

test("in a sandbox, allowed hosts may use http and private addresses, also with registered payment-link hosts", () => {
  const allow = parseAllowList("127.0.0.1:4000");
  for (const hosts of [[], PINNED.hosts]) {
    expect(checkLinkUrl("http://127.0.0.1:4000/pay", { allow, hosts })).toMatchObject({ ok: true });
    expect(checkLinkUrl("http://127.0.0.1:4001/pay", { allow, hosts })).toMatchObject({ ok: false });
  }
  expect(checkLinkUrl("https://evil.example/pay", { allow, hosts: PINNED.hosts })).toMatchObject({ ok: false });
});
