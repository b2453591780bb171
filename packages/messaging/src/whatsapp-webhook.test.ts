import { createHmac } from "node:crypto";
import { describe, expect, test } from "vitest";
import { isSameToken, isSignedByMeta, readWhatsAppStatuses } from "./whatsapp-webhook.ts";

const SECRET = "0123456789abcdef0123456789abcdef";

describe("isSignedByMeta", () => {
  const body = Buffer.from('{"entry":[]}');
  const hex = createHmac("sha256", SECRET).update(body).digest("hex");

  test.each([
    ["accepts a signature as Meta writes it", `sha256=${hex}`, true],
    ["accepts a signature in capital letters", `sha256=${hex.toUpperCase()}`, true],
    ["rejects a signature without its prefix", hex, false],
    ["rejects a SHA-1 signature", `sha1=${hex}`, false],
    ["rejects a signature that is too short", `sha256=${hex.slice(2)}`, false],
    ["rejects a signature that is too long", `sha256=${hex}00`, false],
    ["rejects the signature of another body", `sha256=${"0".repeat(64)}`, false],
    ["rejects an empty signature", "", false],
    ["rejects a missing signature", undefined, false],
  ])("%s", (_, signature, isGood) => {
    expect(isSignedByMeta(body, signature, SECRET)).toBe(isGood);
  });

  test("verifies the bytes of the body, not the parsed JSON", () => {
    expect(isSignedByMeta(Buffer.from('{ "entry": [] }'), `sha256=${hex}`, SECRET)).toBe(false);
    expect(isSignedByMeta(body, `sha256=${hex}`, `${SECRET}0`)).toBe(false);
  });
});

test("isSameToken compares every character", () => {
  expect(isSameToken("verify-me", "verify-me")).toBe(true);
  for (const other of ["", "verify-m", "verify-mE", "verify-me "]) expect(isSameToken(other, "verify-me")).toBe(false);
});

describe("readWhatsAppStatuses", () => {
  test("returns the statuses of every entry and every change, in order", () => {
    const read = readWhatsAppStatuses(
      bytes({
        object: "whatsapp_business_account",
        entry: [
          { id: "1", changes: [change([status("wamid.A", "sent"), status("wamid.B", "delivered")]), change([])] },
          { id: "2", changes: [{ field: "messages", value: { messages: [{ id: "wamid.IN", text: "hi" }] } }] },
          { id: "3", changes: [change([status("wamid.A", "read")])] },
        ],
      }),
    );
    expect(read).toEqual([
      { messageId: "wamid.A", status: "sent" },
      { messageId: "wamid.B", status: "delivered" },
      { messageId: "wamid.A", status: "read" },
    ]);
  });

  test("returns the callbackData of a message only if it is a valid string", () => {
    const data = { biz_opaque_callback_data: "0199a2b4-0000-7000-8000-000000000001" };
    const odd = [7, "", "\u0000", "x".repeat(513), null].map((value) => ({ biz_opaque_callback_data: value }));
    const statuses = [data, ...odd].map((more) => ({ ...status("wamid.A", "sent"), ...more }));
    const read = readWhatsAppStatuses(bytes({ entry: [{ changes: [change(statuses)] }] }));
    const bare = { messageId: "wamid.A", status: "sent" };
    expect(read).toEqual([{ ...bare, callbackData: data.biz_opaque_callback_data }, ...odd.map(() => bare)]);
  });

  test.each([
    [131_026, "UNDELIVERABLE"],
    [131_049, "UNDELIVERABLE"],
    [132_015, "TEMPLATE_REFUSED"],
    [131_042, "ACCOUNT_RESTRICTED"],
    [999_999, "INVALID_REQUEST"],
    ["131026", "INVALID_REQUEST"],
    [undefined, "INVALID_REQUEST"],
  ])("reports the error code %s as %s, without Meta's text or a phone number", (code, fault) => {
    const errors = code === undefined ? [] : [{ code, title: "Message to +919800000001 undeliverable" }];
    const [read] = readWhatsAppStatuses(bytes(one({ ...status("wamid.A", "failed"), errors })));
    expect(read).toMatchObject({ status: "failed", failure: { code: fault, detail: expect.any(String) as string } });
    expect(JSON.stringify(read)).not.toContain("91980");
  });

  test.each<[string, unknown]>([
    ["null", null],
    ["a list", []],
    ["a text", "entry"],
    ["entries that are not a list", { entry: { changes: [] } }],
    ["empty entries", { entry: [null, 7, "x", [], {}] }],
    ["empty changes", { entry: [{ changes: [null, { value: null }, { value: { statuses: "sent" } }] }] }],
    ["a status that is null", one(null)],
    ["an id that is a number", one({ id: 7, status: "sent" })],
    ["an id that is empty", one({ id: "", status: "sent" })],
    ["an id that is too long", one({ id: "x".repeat(513), status: "sent" })],
    ["an id with NUL", one({ id: "wamid.\u0000", status: "sent" })],
    ["an unknown status", one(status("wamid.A", "teleported"))],
    ["a status that is a list", one({ id: "wamid.A", status: ["sent"] })],
    ["a status that is the name of a property of every object", one({ id: "wamid.A", status: "constructor" })],
  ])("ignores %s", (_, document) => {
    expect(readWhatsAppStatuses(bytes(document))).toEqual([]);
  });

  test("returns no statuses for a body that is not JSON", () => {
    for (const text of ["", "{", "\u0000", "entry=1"]) expect(readWhatsAppStatuses(Buffer.from(text))).toEqual([]);
    expect(readWhatsAppStatuses(Buffer.from([0xff, 0xfe, 0x7b]))).toEqual([]);
  });
});

function status(id: string, is: string): object {
  return { id, status: is, timestamp: "1795167667", recipient_id: "919800000001" };
}

function change(statuses: unknown[]): object {
  return { field: "messages", value: { messaging_product: "whatsapp", metadata: {}, statuses } };
}

function one(given: unknown): object {
  return { object: "whatsapp_business_account", entry: [{ id: "1", changes: [change([given])] }] };
}

function bytes(document: unknown): Buffer {
  return Buffer.from(JSON.stringify(document));
}
