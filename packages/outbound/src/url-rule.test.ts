import { expect, test } from "vitest";
import { parseAllowList } from "./allow-list.ts";
import { checkUrl } from "./url-rule.ts";

// The URLs that are rejected are in hostile-list.ts and are tested in guard.test.ts.

test.each([
  "https://lender.example/hooks/collections",
  "https://lender.example:8443/a?b=c#d",
  "https://lender.example?callback=me@mail.example",
  "HTTPS://Lender.Example/",
  "https://lender.example./",
  "https://my_host.lender.example/",
  "https://xn--bcher-kva.example/",
  `https://${`${"a".repeat(63)}.`.repeat(3)}${"a".repeat(61)}/`,
  "https://8.8.8.8/",
  "https://[2606:4700:4700::1111]/",
  "https://localhost.example/",
])("checkUrl accepts %s", (text) => {
  expect(checkUrl(text, parseAllowList(""))).toMatchObject({ ok: true });
});

test("checkUrl accepts plain http and private addresses for a host in the allow list, on its port only", () => {
  const allow = parseAllowList("localhost:4000,10.0.0.5:*,plain.test:80");
  expect(checkUrl("http://localhost:4000/hooks", allow)).toMatchObject({ ok: true });
  expect(checkUrl("https://localhost:4000/hooks", allow)).toMatchObject({ ok: true });
  expect(checkUrl("http://10.0.0.5/", allow)).toMatchObject({ ok: true });
  expect(checkUrl("http://plain.test/", allow)).toMatchObject({ ok: true });
  expect(checkUrl("http://localhost:4001/", allow)).toMatchObject({ ok: false });
  expect(checkUrl("http://localhost.:4000/", allow)).toMatchObject({ ok: false });
  expect(checkUrl("http://127.0.0.1:4000/", allow)).toMatchObject({ ok: false });
  expect(checkUrl("http://10.0.0.5:0/", allow)).toMatchObject({ ok: false });
  expect(checkUrl("http://user@localhost:4000/", allow)).toMatchObject({ ok: false });
  expect(checkUrl("ftp://localhost:4000/", allow)).toMatchObject({ ok: false });
});
