import * as fc from "fast-check";
import { expect, test } from "vitest";
import { decodeBase64 } from "./base64.ts";

test("decodeBase64 decodes standard and URL-safe base64, and any other text, as Buffer does", () => {
  fc.assert(
    fc.property(fc.uint8Array(), fc.base64String(), (bytes, text) => {
      for (const alphabet of ["base64", "base64url"] as const) {
        expect(decodeBase64(Buffer.from(bytes).toString(alphabet))).toEqual(bytes);
      }
      expect(Buffer.from(decodeBase64(text)).equals(Buffer.from(text, "base64"))).toBe(true);
    }),
  );
});
