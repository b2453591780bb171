import { expect, test } from "vitest";
import { momentText } from "./local-time.ts";

test("shows a moment in local time with its zone, and in UTC", () => {
  const at = new Date("2026-11-20T20:11:07.512Z");
  expect(momentText(at, "Asia/Kolkata")).toBe("2026-11-21 01:41:07 Asia/Kolkata (2026-11-20T20:11:07.512Z)");
});
