import { currency } from "@collections/money";
import { describe, expect, test } from "vitest";
import { fallbackFor } from "../index.ts";

const INR = currency("INR");
const acme = {
  upiId: "acme.collections@okbank",
  bankAccount: { accountNumber: "000111222333", ifsc: "ACME0000001" },
  instructions: "Write the loan number on the slip.",
  payeeName: "Acme Finance",
};

test("fallbackFor returns the UPI URI, the QR code, the bank account and the instructions", () => {
  const fallback = fallbackFor(acme, { amountMinor: 250_050n, currency: INR, note: "Loan LN-1001" });
  expect(fallback).toMatchObject({ bankAccount: acme.bankAccount, instructions: acme.instructions });
  expect(fallback.upiUri).toBe(
    "upi://pay?pa=acme.collections@okbank&pn=Acme%20Finance&am=2500.50&cu=INR&tn=Loan%20LN-1001",
  );
  expect(fallback.qrSvg).toMatch(/^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg" viewBox="[0-9 ]+">/);
});

describe("the UPI URI", () => {
  test("contains no amount when none is given, and no note when it is empty", () => {
    expect(fallbackFor(acme, { currency: INR, note: " " }).upiUri).toBe(
      "upi://pay?pa=acme.collections@okbank&pn=Acme%20Finance&cu=INR",
    );
    expect(fallbackFor(acme, { amountMinor: 0n, currency: INR, note: "" }).upiUri).not.toContain("am=");
  });

  test("escapes names and notes, so that a URL parser reads them back unchanged", () => {
    const payeeName = `A&B=C?#%+ "Ünïted" 'Finance' (आरोह) 💸`;
    const uri = fallbackFor({ ...acme, payeeName }, { amountMinor: 1n, currency: INR, note: "MUM/2023&am=1" }).upiUri!;
    expect(uri).toMatch(/^upi:\/\/pay\?[A-Za-z0-9\-._~%&=@]+$/);
    expect(Object.fromEntries(new URLSearchParams(uri.split("?")[1]))).toEqual({
      pa: acme.upiId,
      pn: payeeName,
      am: "0.01",
      cu: "INR",
      tn: "MUM/2023&am=1",
    });
  });

  test("contains no control characters or lone surrogates, and cuts the note to 50 characters", () => {
    const note = `line\r\nbreak \ud800 ${"💸".repeat(60)}`;
    const query = fallbackFor(acme, { currency: INR, note }).upiUri!.split("?")[1];
    const carried = new URLSearchParams(query).get("tn")!;
    expect(carried).toBe(`line break \ufffd ${"💸".repeat(37)}`);
    expect(Array.from(carried)).toHaveLength(50);
  });
});

test.each([
  ["the lender has registered no UPI id", { ...acme, upiId: null }, "INR"],
  ["the payment is in a currency other than INR", acme, "KWD"],
])("there is no QR code if %s", (_why, details, code) => {
  expect(fallbackFor(details, { amountMinor: 1n, currency: currency(code), note: "n" })).toEqual({
    upiUri: null,
    qrSvg: null,
    bankAccount: acme.bankAccount,
    instructions: acme.instructions,
  });
});
