import { createHash, createHmac, randomBytes } from "node:crypto";
import { inspect } from "node:util";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import * as node from "./hmac-node.ts";
import * as portable from "./hmac-portable.ts";
import { toHex } from "./hex.ts";

const IMPLEMENTATIONS: ReadonlyArray<readonly [name: string, hmac: typeof node]> = [
  ["on node:crypto", node],
  ["by @noble/hashes", portable],
];

const hex = (text: string): Buffer => Buffer.from(text, "hex");

// The test cases of RFC 4231, section 4. Case 5 has only the first 128 bits of its digest.
const RFC_4231: ReadonlyArray<readonly [testCase: number, key: Buffer, data: Buffer, digest: string]> = [
  [
    1,
    hex("0b".repeat(20)),
    Buffer.from("Hi There"),
    "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
  ],
  [
    2,
    Buffer.from("Jefe"),
    Buffer.from("what do ya want for nothing?"),
    "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
  ],
  [3, hex("aa".repeat(20)), hex("dd".repeat(50)), "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"],
  [
    4,
    hex("0102030405060708090a0b0c0d0e0f10111213141516171819"),
    hex("cd".repeat(50)),
    "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b",
  ],
  [5, hex("0c".repeat(20)), Buffer.from("Test With Truncation"), "a3b6167473100ee06e0c796c2955552b"],
  [
    6,
    hex("aa".repeat(131)),
    Buffer.from("Test Using Larger Than Block-Size Key - Hash Key First"),
    "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
  ],
  [
    7,
    hex("aa".repeat(131)),
    Buffer.from(
      "This is a test using a larger than block-size key and a larger than block-size data. " +
        "The key needs to be hashed before being used by the HMAC algorithm.",
    ),
    "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2",
  ],
];

// Texts of any UTF-16 code units, including lone surrogates.
const anyText = fc.uint16Array({ maxLength: 100 }).map((units) => String.fromCharCode(...units));

describe.each(IMPLEMENTATIONS)("HMAC-SHA256 %s", (_, { digestOf, equalDigests, hmacSha256, prepareKey, sha256 }) => {
  test.each(RFC_4231)("agrees with RFC 4231, test case %i", (_, key, data, digest) => {
    expect(toHex(hmacSha256(prepareKey(key), [data])).slice(0, digest.length)).toBe(digest);
  });

  test.each([
    ["", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"],
    ["abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"],
    [
      "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
    ],
    ["a".repeat(1_000_000), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"],
  ])("returns the SHA-256 that FIPS 180 publishes for its example “%.10s”", (text, digest) => {
    expect(toHex(sha256([text]))).toBe(digest);
    expect(toHex(sha256([Buffer.from(text)]))).toBe(digest);
  });

  test("hashes all parts as one message, at every length around the block size", () => {
    const bytes = randomBytes(200);
    for (let length = 0; length <= bytes.length; length += 1) {
      const cut = (length * 7) % (length + 1);
      const parts = [bytes.subarray(0, cut), bytes.subarray(cut, length)];
      expect(toHex(sha256(parts))).toBe(createHash("sha256").update(bytes.subarray(0, length)).digest("hex"));
    }
  });

  test.each(["sha1", "sha256", "sha512"] as const)("computes %s as node:crypto does, at every length", (algorithm) => {
    const bytes = randomBytes(300);
    for (let length = 0; length <= bytes.length; length += 1) {
      const [start, rest] = [bytes.subarray(0, length >> 1), bytes.subarray(length >> 1, length)];
      const digest = createHash(algorithm).update(bytes.subarray(0, length)).digest("hex");
      expect(toHex(digestOf(algorithm, [start, rest]))).toBe(digest);
    }
    expect(toHex(digestOf(algorithm, ["आशा", "a"]))).toBe(createHash(algorithm).update("आशाa").digest("hex"));
  });

  test("agrees with node:crypto for any key and for any parts of text or bytes, also if a key is reused", () => {
    const part = fc.oneof(fc.uint8Array({ maxLength: 300 }), anyText);
    const keyBytes = fc.uint8Array({ minLength: 1, maxLength: 200 });
    fc.assert(
      fc.property(keyBytes, fc.array(fc.array(part, { maxLength: 5 }), { maxLength: 4 }), (secret, messages) => {
        const key = prepareKey(secret);
        for (const parts of messages) {
          const message = Buffer.concat(parts.map((each) => Buffer.from(each as Uint8Array)));
          expect(toHex(hmacSha256(key, parts))).toBe(createHmac("sha256", secret).update(message).digest("hex"));
        }
      }),
    );
  });

  test("replaces a lone surrogate as UTF-8 encoders do", () => {
    expect(toHex(sha256(["\ud800"]))).toBe(toHex(sha256([new TextEncoder().encode("\ud800")])));
  });

  test("does not change its inputs, and reads only the bytes of a view into a larger buffer", () => {
    const bytes = randomBytes(300);
    const before = Buffer.from(bytes);
    const view = new Uint8Array(bytes.buffer, bytes.byteOffset + 3, 200);
    expect(toHex(sha256([view]))).toBe(createHash("sha256").update(before.subarray(3, 203)).digest("hex"));
    expect(bytes.equals(before)).toBe(true);
  });

  test("equalDigests compares every byte", () => {
    const digest = sha256(["abc"]);
    expect(equalDigests(digest, Uint8Array.from(digest))).toBe(true);
    for (let index = 0; index < digest.length; index += 1) {
      expect(
        equalDigests(
          digest,
          Uint8Array.from(digest, (byte, at) => (at === index ? byte ^ 1 : byte)),
        ),
      ).toBe(false);
    }
    expect(() => equalDigests(digest, digest.subarray(1))).toThrow(RangeError);
  });

  test("printing a prepared key shows nothing of the secret", () => {
    const key = prepareKey(Buffer.from("sk_live_secret"));
    const printed = `${inspect(key, { depth: 9, showHidden: true })} ${JSON.stringify(key)}`;
    expect(printed).not.toMatch(/sk_live|115, 107|736b|Uint8Array|Uint32Array/);
  });
});
