import { describe, expect, test } from "vitest";
import { readLink, whyUrlIsRejected } from "./link.ts";
import type { Exchange } from "../stand-in/stand-in.ts";

const GOOD = { linkId: "plink_1", url: "https://pay.lender.example/l/1" };

function answered(body: string | Uint8Array, status = 200): Exchange {
  const mask = (text: string) => text;
  const outcome = { status, headers: {}, body: Buffer.from(body), cut: false, statusMs: 1, totalMs: 1 } as const;
  return { endpoint: "mint", what: "a link request", outcome: { kind: "answer", ...outcome }, mask };
}

test.each([200, 201, 299])("reads a link from an answer with status %s", (status) => {
  const { link, faults } = readLink(answered(JSON.stringify({ success: true, link: GOOD }), status));
  expect([link, faults]).toEqual([
    { ...GOOD, amount: undefined, shown: "plink_1 (https://pay.lender.example/l/1)" },
    [],
  ]);
});

test.each([
  ["no JSON", "<html>", "not a JSON object"],
  ["a byte order mark", '\uFEFF{"success":true}', 'no object "link"'],
  ["broken UTF-8", new Uint8Array([0x22, 0xff, 0x22]), "not a JSON object"],
  ["an array", "[]", "not a JSON object"],
  ["success: false", JSON.stringify({ success: false, link: GOOD }), "success: false"],
  ["a success that is not a boolean", JSON.stringify({ success: "yes", link: GOOD }), "success is not true"],
  ["no link", '{"success":true}', 'no object "link"'],
  ["no linkId", JSON.stringify({ success: true, link: { url: GOOD.url } }), "link.linkId is missing"],
  ["a number as linkId", JSON.stringify({ link: { ...GOOD, linkId: 77 } }), "link.linkId is not a string"],
  ["an empty linkId", JSON.stringify({ link: { ...GOOD, linkId: " " } }), "link.linkId is empty"],
  ["a linkId of 129 characters", JSON.stringify({ link: { ...GOOD, linkId: "x".repeat(129) } }), "too long"],
  ["no url", JSON.stringify({ link: { linkId: "plink_1" } }), "link.url is not a string"],
])("rejects an answer and explains why: %s", (_what, body, problem) => {
  const { link, faults } = readLink(answered(body));
  expect(link).toBeNull();
  expect(faults).toEqual([
    { level: "FAIL", problem: expect.stringContaining(problem) as string, mend: expect.any(String) as string },
  ]);
});

describe("accepts the URL", () => {
  test.each([
    "https://pay.lender.example/l/1?a=b#c",
    "https://8.8.8.8/l",
    "https://[2606:4700:4700::1111]/",
    "HTTPS://Pay.example/",
  ])("%s", (url) => expect(whyUrlIsRejected(url, (text) => text)).toBeNull());
});

describe("rejects the URL", () => {
  test.each([
    ["http://pay.lender.example/", "begins with http: instead of https:"],
    ["javascript:alert(1)", "begins with javascript:"],
    ["/l/1", "is not an absolute URL"],
    ["pay.lender.example", "is not an absolute URL"],
    ["https://pay.lender.example/l 1", "must be percent-encoded"],
    ["https://pay.lender.example/ऋण", "must be percent-encoded"],
    ["https://bank.example@evil.example/", "contains a user name or password"],
    ["https://localhost/l", "not on the public internet"],
    ["https://pay/l", "not on the public internet"],
    ["https://pay.internal/l", "not on the public internet"],
    ["https://10.0.0.1/l", "not on the public internet"],
    ["https://2130706433/l", "not on the public internet"],
    ["https://[::1]/l", "not on the public internet"],
    ["https://[::ffff:10.0.0.1]/l", "not on the public internet"],
    [`https://pay.lender.example/${"x".repeat(2_048)}`, "longer than 2048 characters"],
  ])("%s", (url, why) => expect(whyUrlIsRejected(url, (text) => text)).toContain(why));
});
