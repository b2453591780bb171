import { expect, test } from "vitest";
import { createVault } from "./vault.ts";

const OLD = "0a".repeat(32);
const NEW = "b1".repeat(32);
const CONTEXT = "lenders.api_key.secret/1/lk_1";

test("a sealed value opens to the same text, and sealing a text twice gives different values", () => {
  const vault = createVault({ masterKey: OLD });
  for (const plain of ["sk_live_1", "", "पैसा €", "x".repeat(10_000)]) {
    const [one, two] = [vault.seal(plain, CONTEXT), vault.seal(plain, CONTEXT)];
    expect([vault.open(one, CONTEXT), vault.open(two, CONTEXT)]).toEqual([plain, plain]);
    expect(one).not.toBe(two);
  }
});

test("a sealed value contains the id of its master key and no part of the secret", () => {
  const vault = createVault({ masterKey: OLD });
  const sealed = vault.seal("sk_live_readable", CONTEXT);
  expect(sealed).toMatch(/^v1:[0-9a-f]{8}:[A-Za-z0-9+/]+={0,2}$/);
  expect(sealed.split(":")[1]).toBe(vault.masterKeyId);
  expect(Buffer.from(sealed.split(":")[2]!, "base64").includes("readable")).toBe(false);
});

test("a sealed value that was copied to another row or column cannot be decrypted", () => {
  const vault = createVault({ masterKey: OLD });
  const sealed = vault.seal("secret", CONTEXT);
  for (const elsewhere of ["lenders.api_key.secret/2/lk_1", "lenders.lender.whatsapp_token/1", ""]) {
    expect(() => vault.open(sealed, elsewhere)).toThrow(expect.objectContaining({ code: "SEALED_VALUE_ALTERED" }));
  }
});

test("a sealed value with any changed byte cannot be decrypted", () => {
  const vault = createVault({ masterKey: OLD });
  const [version, id, payload = ""] = vault.seal("secret", CONTEXT).split(":");
  const bytes = Buffer.from(payload, "base64");
  for (let index = 0; index < bytes.length; index += 1) {
    const changed = Buffer.from(bytes);
    changed[index]! ^= 1;
    const sealed = `${version}:${id}:${changed.toString("base64")}`;
    expect(() => vault.open(sealed, CONTEXT)).toThrow(expect.objectContaining({ code: "SEALED_VALUE_ALTERED" }));
  }
});

test("a text that is not a sealed value is rejected as malformed", () => {
  const vault = createVault({ masterKey: OLD });
  const cut = `v1:${vault.masterKeyId}:${Buffer.alloc(27).toString("base64")}`;
  for (const text of [
    "",
    "secret",
    "v2:00000000:AAAA",
    `v1:${vault.masterKeyId}:`,
    `v1:${vault.masterKeyId}:**`,
    cut,
  ]) {
    expect(() => vault.open(text, CONTEXT)).toThrow(expect.objectContaining({ code: "SEALED_VALUE_MALFORMED" }));
  }
});

test("the error for a value sealed under an unknown master key names that key and the keys of the vault", () => {
  const sealed = createVault({ masterKey: OLD }).seal("secret", CONTEXT);
  const oldId = createVault({ masterKey: OLD }).masterKeyId;
  const other = createVault({ masterKey: NEW });
  expect(() => other.open(sealed, CONTEXT)).toThrow(
    expect.objectContaining({ code: "UNKNOWN_MASTER_KEY", masterKeyId: oldId, context: CONTEXT }),
  );
  expect(() => other.open(sealed, CONTEXT)).toThrow(new RegExp(`${oldId}.*${other.masterKeyId}`));
});

test("during a rotation, a vault opens values that are sealed under either master key, and seals under the new one", () => {
  const [before, during] = [createVault({ masterKey: OLD }), createVault({ masterKey: NEW, previous: OLD })];
  const [old, fresh] = [before.seal("old", CONTEXT), during.seal("fresh", CONTEXT)];
  expect([during.open(old, CONTEXT), during.open(fresh, CONTEXT)]).toEqual(["old", "fresh"]);
  expect(before.open(old, CONTEXT)).toBe("old");
  expect(() => before.open(fresh, CONTEXT)).toThrow(expect.objectContaining({ code: "UNKNOWN_MASTER_KEY" }));
  expect(createVault({ masterKey: NEW }).open(fresh, CONTEXT)).toBe("fresh");
  expect(before.open(during.sealUnder(before.masterKeyId, "old again", CONTEXT), CONTEXT)).toBe("old again");
  expect(() => before.sealUnder(during.masterKeyId, "fresh", CONTEXT)).toThrow(
    `The vault does not have the master key ${during.masterKeyId}.`,
  );
});

test("a master key that is not 64 hex digits is rejected, and the error does not show it", () => {
  for (const masterKey of ["", "hunter2", "zz".repeat(32), "0a".repeat(31), `${OLD}\n`]) {
    expect(() => createVault({ masterKey })).toThrow(expect.objectContaining({ code: "INVALID_MASTER_KEY" }));
  }
  expect(() => createVault({ masterKey: OLD, previous: "hunter2" })).toThrow(/^The previous master key must be 64 hex/);
  expect(() => createVault({ masterKey: "hunter2" })).not.toThrow(/hunter2/);
});
