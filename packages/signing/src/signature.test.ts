import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { beginVerification, EmptySecretError, sign, signingKey, verify } from "./index.ts";

const secret = "sk_sandbox_4f1c0d6a9b7e4d2c8a3f5e6b7c8d9e0f";
const request = { method: "POST", path: "/hooks/collections", timestamp: "1795167667000", body: '{"kind":"ping"}' };
const signature = sign({ ...request, secret });

describe("sign and verify", () => {
  test("sign returns 64 lower-case hex digits", () => {
    expect(signature).toMatch(/^[0-9a-f]{64}$/);
  });

  test("sign returns the same for a text and for its UTF-8 bytes", () => {
    fc.assert(
      fc.property(fc.uint16Array({ maxLength: 100 }), (units) => {
        const body = String.fromCharCode(...units);
        const ofBytes = sign({ ...request, body: new TextEncoder().encode(body), secret });
        expect(sign({ ...request, body, secret })).toBe(ofBytes);
      }),
    );
  });

  test("verify accepts a signature in upper case and in mixed case", () => {
    const mixed = signature.replaceAll("a", "A").replaceAll("d", "D");
    expect(verify({ ...request, secret, signature: signature.toUpperCase() })).toBe(true);
    expect(verify({ ...request, secret, signature: mixed })).toBe(true);
  });

  test.each([
    ["empty", ""],
    ["one digit short", signature.slice(1)],
    ["one digit long", `${signature}0`],
    ["with a prefix", `sha256=${signature}`],
    ["with 0x", `0x${signature.slice(2)}`],
    ["with a line end", `${signature}\n`],
    ["with a space", ` ${signature}`],
    ["sent twice", `${signature}, ${signature}`],
    ["with a letter that is not a hex digit", `g${signature.slice(1)}`],
    ["in full-width digits", signature.replaceAll(/[0-9]/g, (digit) => String.fromCharCode(0xff10 + Number(digit)))],
    ["in base64", Buffer.from(signature, "hex").toString("base64")],
    ["missing at runtime", undefined as unknown as string],
  ])("verify rejects a signature that is %s", (_, received) => {
    expect(verify({ ...request, secret, signature: received })).toBe(false);
  });

  test("verify rejects a signature in which any one digit is changed", () => {
    for (let index = 0; index < signature.length; index += 1) {
      const digit = (Number.parseInt(signature.charAt(index), 16) ^ 1).toString(16);
      const changed = signature.slice(0, index) + digit + signature.slice(index + 1);
      expect(verify({ ...request, secret, signature: changed })).toBe(false);
    }
  });

  test("verify rejects a body in which any one bit is changed", () => {
    const body = Buffer.from(request.body);
    for (let bit = 0; bit < body.length * 8; bit += 1) {
      const changed = Uint8Array.from(body, (byte, index) => (index === bit >> 3 ? byte ^ (1 << (bit & 7)) : byte));
      expect(verify({ ...request, body: changed, secret, signature })).toBe(false);
    }
  });

  test.each([
    [{ method: "PUT" }],
    [{ path: "/hooks/collections/" }],
    [{ path: "/hooks//collections" }],
    [{ path: "/hooks/Collections" }],
    [{ path: "/hooks%2Fcollections" }],
    [{ path: "https://lender.example/hooks/collections" }],
    [{ timestamp: "1795167667" }],
    [{ timestamp: "01795167667000" }],
    [{ body: '{"kind": "ping"}' }],
    [{ body: '{"kind":"ping"}\n' }],
    [{ body: "" }],
    [{ secret: `${secret}\n` }],
    [{ secret: secret.toUpperCase() }],
  ])("verify rejects a signature if the request has changed to %j", (change) => {
    expect(verify({ ...request, secret, signature, ...change })).toBe(false);
  });

  test("verify accepts any query string, because the query string is not signed", () => {
    expect(verify({ ...request, path: "/hooks/collections?dryRun=true&next=/a?b", secret, signature })).toBe(true);
    expect(verify({ ...request, path: "/hooks/collections?", secret, signature })).toBe(true);
  });
});

describe("beginVerification, for a body that arrives in parts", () => {
  const { body, ...head } = request;

  test("accepts the signature of the whole body, however the body is divided", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), fc.array(fc.nat(300), { maxLength: 5 }), (bytes, cuts) => {
        const verification = beginVerification({ ...head, secret, signature: sign({ ...head, secret, body: bytes }) });
        const ends = [...cuts.map((cut) => Math.min(cut, bytes.length)).toSorted((a, b) => a - b), bytes.length];
        for (const [index, end] of ends.entries()) verification.update(bytes.slice(ends[index - 1] ?? 0, end));
        expect(verification.holds()).toBe(true);
      }),
    );
  });

  test("rejects a missing, repeated or moved part, and another path, timestamp, method, secret or signature", () => {
    const bytes = Buffer.from(body);
    const [first, second] = [bytes.subarray(0, 5), bytes.subarray(5)];
    const holds = (parts: readonly Uint8Array[], change: object = {}) => {
      const verification = beginVerification({ ...head, secret, signature, ...change });
      for (const part of parts) verification.update(part);
      return verification.holds();
    };
    expect(holds([first, second])).toBe(true);
    for (const parts of [[first], [second], [], [first, first, second], [second, first]])
      expect(holds(parts)).toBe(false);
    for (const change of [
      { path: "/" },
      { timestamp: "1" },
      { method: "PUT" },
      { secret: "other" },
      { signature: "" },
    ]) {
      expect(holds([first, second], change)).toBe(false);
    }
  });
});

describe("an empty secret", () => {
  test("is rejected by signingKey, sign and verify, because anybody could sign with it", () => {
    expect(() => signingKey("")).toThrow(EmptySecretError);
    expect(() => sign({ ...request, secret: "" })).toThrow(expect.objectContaining({ code: "EMPTY_SECRET" }));
    expect(() => verify({ ...request, secret: "", signature })).toThrow(EmptySecretError);
  });
});
