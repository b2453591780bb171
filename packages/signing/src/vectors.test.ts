import { createHash, createHmac } from "node:crypto";
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { canonicalSha256, canonicalString, sha256Hex, sign, signingKey, verify } from "./index.ts";

interface Vector {
  readonly name: string;
  readonly secret: string;
  readonly method: string;
  readonly path: string;
  readonly timestamp: string;
  readonly body?: string;
  readonly bodyBase64?: string;
  readonly bodyRepeat?: { readonly text: string; readonly times: number };
  readonly canonicalSha256: string;
  readonly signature: string;
}

const { vectors } = JSON.parse(readFileSync(new URL("../vectors.json", import.meta.url), "utf8")) as {
  readonly vectors: readonly Vector[];
};

const PUBLISHED = [
  "bd00db74ca43bdb980b5b174a9d9e4147b2c959ced8a1bea6696d023f483d70b",
  "37d61778d0ac507dd22552f54d56e74e6b530851beddb29b3322fc33ab91b41f",
  "ec8f123e3ed68cb9d33b9ade348c4b8409d87f8fbcc4662aa15812fa51d5acff",
  "e4c5e25aa8dc86784a4d95fa8ec9fc121fe0ed46862902a365afc0ed4db9e937",
];

test("vectors.json contains the published signatures", () => {
  expect(vectors.slice(0, 4).map(({ signature }) => signature)).toEqual(PUBLISHED);
  expect(vectors).toHaveLength(20);
  expect(new Set(vectors.map(({ name }) => name)).size).toBe(20);
});

describe.each(vectors)("vector: $name", (vector) => {
  const { secret, method, path, timestamp, signature } = vector;
  const body = bodyOf(vector);
  const request = { method, path, timestamp, body };
  const canonical = Buffer.concat([
    Buffer.from(`${method.toUpperCase()}\n${path.split("?")[0]}\n${timestamp}\n`, "utf8"),
    body,
  ]);

  test("its signature is the HMAC by node:crypto of the text that the contract describes", () => {
    expect(createHmac("sha256", Buffer.from(secret, "utf8")).update(canonical).digest("hex")).toBe(
      signature.toLowerCase(),
    );
    expect(createHash("sha256").update(canonical).digest("hex")).toBe(vector.canonicalSha256);
  });

  test("sign returns its signature, with a secret and with a prepared key", () => {
    expect(sign({ ...request, secret })).toBe(signature.toLowerCase());
    expect(sign({ ...request, secret: signingKey(secret) })).toBe(signature.toLowerCase());
  });

  test("verify accepts its signature, but not with another timestamp", () => {
    expect(verify({ ...request, secret, signature })).toBe(true);
    expect(verify({ ...request, secret: signingKey(secret), signature })).toBe(true);
    expect(verify({ ...request, secret, signature, timestamp: `${timestamp}0` })).toBe(false);
  });

  test("its canonical string has the SHA-256 that the vector gives", () => {
    expect(Buffer.from(canonicalString(request)).equals(canonical)).toBe(true);
    expect(sha256Hex(canonicalString(request))).toBe(vector.canonicalSha256);
    expect(canonicalSha256(request)).toBe(vector.canonicalSha256);
  });
});

function bodyOf({ body, bodyBase64, bodyRepeat }: Vector): Buffer {
  if (bodyBase64 !== undefined) return Buffer.from(bodyBase64, "base64");
  if (bodyRepeat !== undefined) return Buffer.from(bodyRepeat.text.repeat(bodyRepeat.times), "utf8");
  return Buffer.from(body ?? "", "utf8");
}
