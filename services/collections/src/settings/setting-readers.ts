import { connectionProblems } from "@collections/database";
import { isIP } from "node:net";
import { z } from "zod";

/** The units of durations, in milliseconds. */
export const DURATION_UNITS_MS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 } as const;
const LONGEST_DURATION_MS = 30 * 24 * DURATION_UNITS_MS.h;
/** 24 days, because a timer of 2^31 ms (25 days) or more would fire after 1 ms. */
const LONGEST_TIMER_MS = 576 * DURATION_UNITS_MS.h;

/** A duration that a timer can wait for. */
export const duration = z.string().transform((text, context) => {
  const ms = parseDuration(text);
  if (ms === undefined || ms > LONGEST_TIMER_MS) {
    const message = `takes a duration such as 500ms, 2s, 15m or 6h, and 576h at most; got "${text}"`;
    context.addIssue({ code: "custom", message });
    return z.NEVER;
  }
  return ms;
});

/** A time to wait for an answer, above 0. */
export const timeout = duration.refine((ms) => ms > 0, "takes a duration above 0");

const PROXY = /^(loopback|linklocal|uniquelocal)$/;

/** The addresses and ranges of trusted proxies, with commas. */
export const proxies = z
  .string()
  .default("")
  .transform((text) => text.split(",").flatMap((hop) => hop.trim() || []))
  .refine(
    (hops) => hops.every((hop) => PROXY.test(hop) || isAddressOrRange(hop)),
    "takes addresses or ranges with commas, such as 10.0.0.0/8,192.168.1.7, or loopback, linklocal, uniquelocal",
  );

/** A URL of PostgreSQL that every connection can obey. */
export const postgresUrl = z
  .string()
  .superRefine((url, context) => {
    for (const message of connectionProblems(url)) context.addIssue({ code: "custom", message });
  })
  .optional();

/** A master key, in hexadecimal digits. */
export const masterKey = z
  .string()
  .regex(/^[0-9a-f]{64}$/i, "takes 64 hexadecimal characters (32 random bytes: openssl rand -hex 32)")
  .optional();

/** A URL to which the paths of pages are appended. */
export const documentationUrl = z
  .url({ protocol: /^https?$/, hostname: /./, error: "takes a URL such as https://docs.lender.example" })
  .refine(
    (url) => !/[?#@]/.test(url),
    "takes a URL without a user name, a query or a fragment, because paths are appended to it",
  )
  .transform((url) => url.replace(/\/+$/, ""))
  .optional();

/** The origin of URLs that people open. */
export const publicUrl = z
  .url({ protocol: /^https?$/, hostname: /./, error: "takes an origin such as https://desk.example" })
  .refine(
    (url) => !URL.canParse(url) || new URL(url).origin === url.replace(/\/$/, ""),
    "takes an origin without a path: PUBLIC_BASE_PATH is added",
  )
  .transform((url) => url.replace(/\/$/, ""))
  .optional();

/**
 * A whole number in decimal digits only. JavaScript would also read " ", "0x50" and "1e3" as numbers, although they are
 * likely mistakes.
 */
export function wholeNumber({ from, to }: { from: number; to: number }, error: string) {
  return z
    .string()
    .regex(/^\d{1,9}$/, error)
    .transform(Number)
    .refine((number) => number >= from && number <= to, error);
}

/** Converts `500ms`, `2s`, `15m` or `6h` to milliseconds; undefined for anything else, or for more than 30 days. */
export function parseDuration(text: string): number | undefined {
  const match = /^(\d{1,9})(ms|s|m|h)$/.exec(text);
  if (!match) return undefined;
  const ms = Number(match[1]) * DURATION_UNITS_MS[match[2] as keyof typeof DURATION_UNITS_MS];
  return ms <= LONGEST_DURATION_MS ? ms : undefined;
}

/** Whether Express accepts the text as the address or range of a trusted proxy. */
function isAddressOrRange(text: string): boolean {
  const [address = "", bits, ...others] = text.split("/");
  const version = isIP(address);
  if (version === 0 || others.length > 0) return false;
  return (
    bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) > 0 && Number(bits) <= (version === 4 ? 32 : 128))
  );
}
