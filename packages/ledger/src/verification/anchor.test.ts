import { createHash, createPublicKey, hkdfSync, verify } from "node:crypto";
import { describe, expect, test } from "vitest";
import { type Anchor, anchorLine, readAnchorLine } from "./anchor.ts";
import { createAnchorKeys, readAnchorPublicKey } from "./anchor-keys.ts";

const OLD = "0a".repeat(32);
const NEW = "b1".repeat(32);
const BOOK = "019aa3b7-f01c-7d22-a1b2-c3d4e5f60718";
const anchor: Anchor = {
  environment: "live",
  at: new Date("2026-11-22T18:00:00.000Z"),
  heads: [
    { book: BOOK, number: 17n, hash: "ab".repeat(32) },
    { book: BOOK.replace(/8$/, "9"), number: 9_007_199_254_740_991n, hash: "01".repeat(32) },
  ],
};

test("an anchor is read back from its line with a valid signature", () => {
  const keys = createAnchorKeys({ masterKey: OLD });
  const line = anchorLine(anchor, keys);
  expect(line).not.toContain("\n");
  const signed = readAnchorLine(line);
  if (typeof signed === "string") throw new Error(signed);
  expect(signed.anchor).toEqual(anchor);
  expect(signed.keyId).toBe(keys.keyId);
  expect(keys.publicKeys.get(keys.keyId)!.verifies(signed.signedText, signed.signature)).toBe(true);
});

test("an auditor can verify a line with only the public key, in the way that the documentation describes", () => {
  const keys = createAnchorKeys({ masterKey: OLD });
  const { text: publicKey } = keys.publicKeys.get(keys.keyId)!;
  const json = JSON.parse(anchorLine(anchor, keys)) as {
    environment: string;
    at: string;
    heads: { lenderId: string; block: number; hash: string }[];
    keyId: string;
    signature: string;
  };
  const heads = json.heads.map(({ lenderId, block, hash }) => `${lenderId} ${block} ${hash}`);
  const text = ["ledger-anchor/1", json.environment, json.at, ...heads].join("\n");
  const raw = Buffer.from(publicKey, "base64");
  const spki = Buffer.concat([Buffer.from("302a300506032b6570032100", "hex"), raw]);
  const key = createPublicKey({ key: spki, format: "der", type: "spki" });
  expect(verify(null, Buffer.from(text), key, Buffer.from(json.signature, "base64"))).toBe(true);
  expect(json.keyId).toBe(createHash("sha256").update(raw).digest("hex").slice(0, 16));
});

test("the signing key is derived with its own label, so that no other key of the service can sign anchors", () => {
  const seed = Buffer.from(hkdfSync("sha256", Buffer.from(OLD, "hex"), "", "field-partners/otp", 32)).toString("hex");
  expect(createAnchorKeys({ masterKey: OLD }).keyId).not.toBe(createAnchorKeys({ masterKey: seed }).keyId);
  expect(createAnchorKeys({ masterKey: OLD }).keyId).toBe(createAnchorKeys({ masterKey: OLD.toUpperCase() }).keyId);
});

test("during a rotation of the master key both public keys are known, and the new key signs", () => {
  const [before, during] = [createAnchorKeys({ masterKey: OLD }), createAnchorKeys({ masterKey: NEW, previous: OLD })];
  const after = createAnchorKeys({ masterKey: NEW });
  expect([...during.publicKeys.keys()]).toEqual([after.keyId, before.keyId]);
  expect(during.keyId).toBe(after.keyId);
});

describe("a changed line of an anchor", () => {
  const keys = createAnchorKeys({ masterKey: OLD });
  const key = keys.publicKeys.get(keys.keyId)!;

  test("is unreadable or has an invalid signature, whichever character is changed", () => {
    const line = anchorLine(anchor, keys);
    const accepted: string[] = [];
    for (let index = 0; index < line.length; index += 1) {
      const changed = line.slice(0, index) + (line[index] === "7" ? "8" : "7") + line.slice(index + 1);
      const read = readAnchorLine(changed);
      if (typeof read === "string") continue;
      // Leaves out a line whose key id was changed: no trusted key has such an id, so the line is rejected without a
      // check of its signature.
      if (read.keyId !== keys.keyId) continue;
      if (key.verifies(read.signedText, read.signature)) accepted.push(changed);
    }
    expect(accepted).toEqual([]);
  });

  test("is read as torn if it is cut off at any character", () => {
    const line = anchorLine(anchor, keys);
    for (let length = 1; length < line.length; length += 1) {
      expect([length, readAnchorLine(line.slice(0, length))]).toEqual([length, "torn"]);
    }
  });

  test.each([
    ["null"],
    ["[]"],
    ['"text"'],
    ["{}"],
    ["not an anchor"],
    ['{"version":2}'],
    [anchorLine(anchor, keys).replace('"block":17', '"block":-1')],
    [anchorLine(anchor, keys).replace('"live"', '"live\\nmore"')],
    [anchorLine(anchor, keys).replace("2026-11-22", "2026-13-22")],
  ])("is read as unreadable: %s", (line) => {
    expect(readAnchorLine(line)).toBe("unreadable");
  });
});

test.each([[""], ["hunter2"], ["A".repeat(44)], [`${"A".repeat(43)}=\n`], [Buffer.alloc(31).toString("base64")]])(
  "readAnchorPublicKey rejects %j and says which format it expects",
  (text) => {
    expect(() => readAnchorPublicKey(text)).toThrow(/expected 32 bytes in base64/);
  },
);

test("createAnchorKeys rejects a master key that is not 64 hex digits, and the error does not contain the key", () => {
  expect(() => createAnchorKeys({ masterKey: "hunter2" })).toThrow(/64 hex digits/);
  expect(() => createAnchorKeys({ masterKey: "hunter2" })).not.toThrow(/hunter2/);
});
