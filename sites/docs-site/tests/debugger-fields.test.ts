import { describe, expect, test } from "vitest";
import { duration } from "../src/pages/duration.ts";
import { askedIn, type Fields } from "../src/pages/fields.ts";
import { visibleParts } from "../src/pages/visible-text.ts";

const FILLED: Fields = {
  method: "POST",
  path: "/api/v1/partner/cases",
  timestamp: "1795167667000",
  signature: "ab12",
  headers: "",
  body: { text: "{}" },
  secret: "sk_sandbox_1",
  otherSecrets: "",
};
const bytes = (text: string) => new TextEncoder().encode(text);

describe("the fields of the debugger", () => {
  test("are read as a request and the secrets to try", () => {
    const fields = {
      ...FILLED,
      headers: "Host: api.example\nAuthorization: Bearer lk_1\n",
      otherSecrets: "\nsk_old\n",
    };
    expect(askedIn(fields)).toEqual({
      ok: true,
      request: {
        method: "POST",
        path: "/api/v1/partner/cases",
        timestamp: "1795167667000",
        signature: "ab12",
        body: bytes("{}"),
        host: "api.example",
      },
      secrets: { secret: "sk_sandbox_1", keyId: "lk_1", others: [{ keyId: "in line 2", secret: "sk_old" }] },
    });
  });

  test("are trimmed, except for the body", () => {
    const fields = { ...FILLED, path: " /b\n", timestamp: " 1 ", secret: "s \n", body: { text: " {} \n" } };
    expect(askedIn(fields)).toMatchObject({
      request: { path: "/b", timestamp: "1", body: bytes(" {} \n") },
      secrets: { secret: "s" },
    });
  });

  test("take timestamp and signature from the headers if their own fields are empty", () => {
    const headers = "x-service-timestamp: 17\nX-SERVICE-SIGNATURE: cd";
    expect(askedIn({ ...FILLED, timestamp: "", signature: "", headers })).toMatchObject({
      request: { timestamp: "17", signature: "cd" },
    });
    expect(askedIn({ ...FILLED, headers })).toMatchObject({
      request: { timestamp: "17", signedTimestamp: "1795167667000", signature: "ab12" },
    });
  });

  test.each([
    ["in base64", { base64: " e30\n= " }, bytes("{}")],
    ["a file", { file: bytes("\uFEFF{}") }, bytes("\uFEFF{}")],
    ["empty", { text: "" }, bytes("")],
  ])("accept a body that is %s", (_, body, expected) => {
    expect(askedIn({ ...FILLED, body })).toMatchObject({ request: { body: expected } });
  });

  test("are all reported at once if they are empty or invalid", () => {
    const empty = { ...FILLED, method: "", path: " ", timestamp: "", signature: "", secret: "" };
    const asked = askedIn({ ...empty, body: { base64: "%" } });
    expect(asked).toMatchObject({ ok: false });
    expect(asked.ok ? [] : asked.faults.map(({ field }) => field)).toEqual([
      "method",
      "path",
      "timestamp",
      "signature",
      "body",
      "secret",
    ]);
    expect(askedIn({ ...FILLED, body: { file: undefined } })).toMatchObject({ ok: false, faults: [{ field: "body" }] });
  });
});

test("visibleParts replaces each invisible character with a named picture", () => {
  expect(visibleParts("\uFEFFa\r\nb")).toEqual([
    { picture: "BOM", name: "byte order mark" },
    "a",
    { picture: "␍", name: "carriage return (CR)" },
    { picture: "↵", name: "newline (LF)" },
    "b",
  ]);
});

test.each([
  [0, "0 ms"],
  [-213, "213 ms"],
  [1_999, "1999 ms"],
  [90_000, "90 seconds"],
  [-7_200_000, "2 hours"],
  [1e10, "115 days"],
])("duration describes %i ms as %s", (ms, words) => {
  expect(duration(ms)).toBe(words);
});
