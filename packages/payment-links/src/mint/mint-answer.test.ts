import { type OutboundAnswer, type OutboundFailure, parseAllowList } from "@collections/outbound";
import { describe, expect, test } from "vitest";
import { readMintAnswer, UNAVAILABLE_REASONS } from "../index.ts";

const NOTHING = { allow: parseAllowList(""), hosts: [] };
const URL = "https://pay.lender.example/plink_77";

function answered(body: unknown, rest: Partial<Extract<OutboundAnswer, { kind: "answer" }>> = {}): OutboundAnswer {
  const bytes = Buffer.isBuffer(body) ? body : Buffer.from(typeof body === "string" ? body : JSON.stringify(body));
  return { kind: "answer", status: 200, headers: {}, body: bytes, bodyCut: false, durationMs: 1, ...rest };
}

function failed(code: OutboundFailure["code"]): OutboundAnswer {
  return { kind: "failure", code, reason: "CONNECTION_FAILED", ownFault: false, requestSent: true, durationMs: 1 };
}

function linkOf(link: unknown): OutboundAnswer {
  return answered({ success: true, link });
}

describe("readMintAnswer returns the minted link of an answer", () => {
  test.each([200, 201, 202, 226, 299])("with status %s", (status) => {
    const answer = answered({ success: true, link: { linkId: "plink_77", url: URL } }, { status });
    expect(readMintAnswer(answer, NOTHING)).toEqual({ minted: { linkId: "plink_77", url: URL } });
  });

  test.each([
    ["without the field success", { link: { linkId: "plink_77", url: URL } }],
    ["with unknown fields", { success: true, link: { linkId: "plink_77", url: URL, expires: 1 }, x: [] }],
    ["with spaces around linkId, which is trimmed", { success: true, link: { linkId: " plink_77\n", url: URL } }],
  ])("%s", (_how, body) => {
    expect(readMintAnswer(answered(body), NOTHING)).toEqual({ minted: { linkId: "plink_77", url: URL } });
  });

  test("with a linkId of 128 characters outside the Basic Multilingual Plane", () => {
    const linkId = "𝓵".repeat(128);
    expect(readMintAnswer(linkOf({ linkId, url: URL }), NOTHING)).toMatchObject({ minted: { linkId } });
  });

  test("with a plain http URL of a private address if the operator allows that host and port", () => {
    const url = "http://127.0.0.1:4000/pay";
    expect(
      readMintAnswer(linkOf({ linkId: "a", url }), { allow: parseAllowList("127.0.0.1:4000"), hosts: [] }),
    ).toMatchObject({
      minted: { url },
    });
  });
});

describe("readMintAnswer, for an answer without a valid link", () => {
  const good = { success: true, link: { linkId: "plink_77", url: URL } };

  test.each<[string, OutboundAnswer, string]>([
    ["no answer in time", failed("TIMEOUT"), "timeout"],
    ["an unknown host", failed("DNS"), "dns"],
    ["a failed connection", failed("CONNECT"), "connect"],
    ["a failed TLS handshake", failed("TLS"), "tls"],
    ["a blocked address", failed("BLOCKED_ADDRESS"), "blocked_address"],
    ["a call that the service aborted", failed("ABORTED"), "outcome_unknown"],
    ["a redirect", answered(good, { status: 302 }), "non_2xx"],
    ["status 422", answered(good, { status: 422 }), "non_2xx"],
    ["status 500 with an incomplete body", answered("", { status: 500, bodyCut: "broken" }), "non_2xx"],
    ["a body beyond the maximum size", answered(good, { bodyCut: "too_large" }), "bad_answer"],
    ["a body that did not end in time", answered("{", { bodyCut: "deadline" }), "timeout"],
    ["a body cut off by a broken connection", answered("{", { bodyCut: "broken" }), "connect"],
    ["an unknown coding", answered("", { bodyCut: "unknown_coding", contentCoding: "zstd" }), "bad_answer"],
    ["an invalid coding", answered("", { bodyCut: "invalid_coding", contentCoding: "gzip" }), "bad_answer"],
    ["success: false", answered({ ...good, success: false }), "refused"],
    ["success as a string", answered({ ...good, success: "true" }), "bad_answer"],
    ["an empty body", answered(""), "bad_answer"],
    ["HTML", answered("<html>"), "bad_answer"],
    ["invalid UTF-8", answered(Buffer.from([0x22, 0xff, 0x22])), "bad_answer"],
    ["65,000 nested arrays", answered("[".repeat(65_000)), "bad_answer"],
    ["null", answered(null), "bad_answer"],
    ["an array", answered([good]), "bad_answer"],
    ["a string", answered('"ok"'), "bad_answer"],
    ["no link", answered({ success: true }), "bad_answer"],
    ["a link that is a string", linkOf(URL), "bad_answer"],
    ["no linkId", linkOf({ url: URL }), "bad_answer"],
    ["an empty linkId", linkOf({ linkId: " ", url: URL }), "bad_answer"],
    ["a linkId that is a number", linkOf({ linkId: 77, url: URL }), "bad_answer"],
    ["a linkId with a NUL", linkOf({ linkId: "a\0b", url: URL }), "bad_answer"],
    ["a linkId with a lone surrogate", linkOf({ linkId: "a\ud800", url: URL }), "bad_answer"],
    ["a linkId of 129 characters", linkOf({ linkId: "a".repeat(129), url: URL }), "bad_answer"],
    ["no url", linkOf({ linkId: "a" }), "bad_url"],
    ["plain http", linkOf({ linkId: "a", url: "http://pay.lender.example/a" }), "bad_url"],
    ["a javascript: URL", linkOf({ linkId: "a", url: "javascript:alert(1)" }), "bad_url"],
    ["a data URL", linkOf({ linkId: "a", url: "data:text/html,hello" }), "bad_url"],
    ["a relative url", linkOf({ linkId: "a", url: "/pay/a" }), "bad_url"],
    ["a private address", linkOf({ linkId: "a", url: "https://10.0.0.1/pay" }), "bad_url"],
    ["a user name in the url", linkOf({ linkId: "a", url: "https://bank.example@evil.example/" }), "bad_url"],
    ["a url with a line break", linkOf({ linkId: "a", url: "https://pay.lender.example/\na" }), "bad_url"],
    ["a url of 2 MB", linkOf({ linkId: "a", url: URL.padEnd(2_000_000, "x") }), "bad_url"],
  ])("returns the reason why the link is unavailable: %s", (_what, answer, reason) => {
    const reading = readMintAnswer(answer, NOTHING);
    expect(reading).toMatchObject({ unavailable: reason, detail: expect.stringMatching(/^.{5,200}\.$/) });
    expect(UNAVAILABLE_REASONS).toContain(reason);
  });

  test("returns a detail that quotes nothing from the lender's answer", () => {
    const body = { success: false, error: "SECRET", link: { linkId: "SECRET" } };
    const readings = [answered(body), answered(body, { status: 500 }), linkOf({ linkId: "a", url: "SECRET" })];
    expect(JSON.stringify(readings.map((answer) => readMintAnswer(answer, NOTHING)))).not.toContain("SECRET");
  });
});
