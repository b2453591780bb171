import { expect, test } from "vitest";
import { parseAllowList } from "./allow-list.ts";
import { checkUrl, MAX_URL_CHARS } from "./url-rule.ts";

const NOTHING = parseAllowList("");

test.each([
  "https://lender.example/hooks/collections",
  "https://lender.example:8443/a?b=c#d",
  "HTTPS://Lender.Example/",
  "https://xn--bcher-kva.example/",
  "https://8.8.8.8/",
  "https://[2606:4700:4700::1111]/",
  "https://localhost.example/",
])("accepts %s without asking the network", (text) => {
  expect(checkUrl(text, NOTHING)).toMatchObject({ ok: true });
});

test.each([
  ["http://lender.example/", "https"],
  ["ftp://lender.example/", "absolute"],
  ["file:///etc/passwd", "absolute"],
  ["javascript:alert(1)", "absolute"],
  ["//lender.example/", "absolute"],
  ["https:lender.example", "absolute"],
  ["https:///lender.example", "absolute"],
  ["https:\\\\lender.example\\", "absolute"],
  ["/hooks", "absolute"],
  ["", "percent-encoded"],
  [" https://lender.example/", "percent-encoded"],
  ["https://lender.example/\r\nHost: evil", "percent-encoded"],
  ["https://lender.example/caf\u00e9", "percent-encoded"],
  ["https://127\u30020\u30020\u30021/", "percent-encoded"],
  ["https://user:secret@lender.example/", "user name"],
  ["https://lender.example@127.0.0.1/", "user name"],
  ["https://:secret@lender.example/", "user name"],
  ["https://127.0.0.1/", "loopback"],
  ["https://127.1/", "loopback"],
  ["https://2130706433/", "loopback"],
  ["https://0x7f000001/", "loopback"],
  ["https://0x7f.1/", "loopback"],
  ["https://0177.0.0.1/", "loopback"],
  ["https://127.0.0.1./", "loopback"],
  ["https://%31%32%37.0.0.1/", "loopback"],
  ["https://0/", "unspecified"],
  ["https://10.1.2.3/", "private"],
  ["https://192.168.0.1:8443/", "private"],
  ["https://169.254.169.254/latest/meta-data/", "link-local"],
  ["https://100.64.0.1/", "carrier-grade NAT"],
  ["https://[::1]/", "loopback"],
  ["https://[::]/", "unspecified"],
  ["https://[::ffff:127.0.0.1]/", "loopback"],
  ["https://[::ffff:7f00:1]/", "loopback"],
  ["https://[64:ff9b::a9fe:a9fe]/", "link-local"],
  ["https://[fd00:ec2::254]/", "private"],
  ["https://[fe80::1]/", "link-local"],
  ["https://[fe80::1%25eth0]/", "absolute"],
  ["https://localhost/", "never"],
  ["https://LOCALHOST./", "never"],
  ["https://app.localhost/", "never"],
  ["https://metadata.google.internal/", "never"],
  ["https://printer.local/", "never"],
  ["https://lender.example:99999/", "absolute"],
  ["https://256.256.256.256/", "absolute"],
  [`https://lender.example/${"a".repeat(MAX_URL_CHARS)}`, "2048"],
])("refuses %s and says why", (text, words) => {
  expect(checkUrl(text, NOTHING)).toEqual({ ok: false, reason: expect.stringContaining(words) });
});

test("a listed host may be plain http and private, on the listed port only", () => {
  const allow = parseAllowList("localhost:4000,10.0.0.5:*,plain.test:80");
  expect(checkUrl("http://localhost:4000/hooks", allow)).toMatchObject({ ok: true });
  expect(checkUrl("https://localhost:4000/hooks", allow)).toMatchObject({ ok: true });
  expect(checkUrl("http://10.0.0.5/", allow)).toMatchObject({ ok: true });
  expect(checkUrl("http://plain.test/", allow)).toMatchObject({ ok: true });
  expect(checkUrl("http://localhost:4001/", allow)).toMatchObject({ ok: false });
  expect(checkUrl("http://127.0.0.1:4000/", allow)).toMatchObject({ ok: false });
  expect(checkUrl("http://user@localhost:4000/", allow)).toMatchObject({ ok: false });
  expect(checkUrl("ftp://localhost:4000/", allow)).toMatchObject({ ok: false });
});
