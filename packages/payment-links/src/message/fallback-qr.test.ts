import { currency } from "@collections/money";
import { decodeQR } from "qr/decode.js";
import { describe, expect, test } from "vitest";
import { fallbackFor } from "../index.ts";

/** The scanner gets an image with several pixels for each module, as from a phone's camera. */
const PIXELS_PER_MODULE = 4;
const BYTES_PER_PIXEL = 4;

describe("the QR code of a fallback", () => {
  test.each([
    ["with short texts", { upiId: "a@okbank", payeeName: "A" }, 0n, "1"],
    ["with usual texts", { upiId: "acme.collections@okbank", payeeName: "Acme Finance" }, 250_000n, "LN-1001"],
    [
      "with texts in two scripts",
      { upiId: "acme@okbank", payeeName: "आरोह Finance & Söhne 'Ltd.'" },
      123_456_789_012n,
      "MUM/2023/00123",
    ],
    [
      "with the longest possible texts",
      { upiId: `${"a".repeat(190)}@${"b".repeat(64)}`, payeeName: "आ".repeat(99) },
      1n,
      "💸".repeat(50),
    ],
  ])("is read by a scanner as the UPI URI, %s", (_, { upiId, payeeName }, amountMinor, note) => {
    const details = { upiId, payeeName, bankAccount: null, instructions: null };
    const { upiUri, qrSvg } = fallbackFor(details, { amountMinor, currency: currency("INR"), note });
    expect(decodeQR(drawn(qrSvg!))).toBe(upiUri);
  });
});

/** Renders a QR code's SVG to pixels. The SVG must consist of black unit squares on white. */
function drawn(svg: string): { width: number; height: number; data: Uint8Array } {
  const [, modules] = /viewBox="0 0 (\d+) \1"/.exec(svg)!;
  const [, path] = /<path fill="black" d="([^"]+)"/.exec(svg)!;
  const squares = path!.split("M").filter((square) => square.trim() !== "");
  const width = Number(modules) * PIXELS_PER_MODULE;
  const data = new Uint8Array(width * width * BYTES_PER_PIXEL).fill(255);
  for (const square of squares) {
    const [, column, row] = /^(\d+),(\d+)h1v1h-1z$/.exec(square.trim())!.map(Number);
    for (let y = row! * PIXELS_PER_MODULE; y < (row! + 1) * PIXELS_PER_MODULE; y += 1) {
      for (let x = column! * PIXELS_PER_MODULE; x < (column! + 1) * PIXELS_PER_MODULE; x += 1) {
        data.fill(0, (y * width + x) * BYTES_PER_PIXEL, (y * width + x) * BYTES_PER_PIXEL + 3);
      }
    }
  }
  return { width, height: width, data };
}
