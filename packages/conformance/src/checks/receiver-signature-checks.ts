import { randomBytes } from "node:crypto";
import { HEADERS } from "@collections/signing";
import type { Check } from "./check.ts";
import { spaced } from "../stand-in/event.ts";
import { acknowledged, refused } from "./expectation.ts";

const MINUTE_MS = 60_000;

/** Whether the receiver believes what the service signed and nothing else. contract: Webhook signing */
export const receiverSignatureChecks: readonly Check[] = [
  {
    name: "receiver.wrong-signature",
    title: "A signature by another secret is refused with 401",
    why: "Your callback is on the internet. Whoever finds it could report payments to you that nobody made.",
    async run(service) {
      const { keyId } = service.settings.key;
      const key = { keyId, secret: `sk_${randomBytes(16).toString("hex")}` };
      const made = await service.deliver("an event signed with another secret", event(service), { key });
      return refused(made, VERIFY);
    },
  },
  {
    name: "receiver.malformed-signature",
    title: "What is no signature is refused with 401, without a crash",
    why: "Functions that compare in constant time throw when the lengths differ, and a lenient decoder makes an empty digest of what is not hexadecimal.",
    async run(service) {
      const short = { [HEADERS.signature]: "4f1c" };
      const noHex = { [HEADERS.signature]: "z".repeat(64) };
      return [
        ...refused(
          await service.deliver("an event whose signature is 4f1c", event(service), { headers: short }),
          VERIFY,
        ),
        ...refused(
          await service.deliver("one whose signature is not hexadecimal", event(service), { headers: noHex }),
          VERIFY,
        ),
      ];
    },
  },
  {
    name: "receiver.missing-headers",
    title: "An event without signature or timestamp is refused with 401",
    why: "A check that is left out where its header is missing is no check.",
    async run(service) {
      const noSignature = { [HEADERS.signature]: undefined };
      const noTimestamp = { [HEADERS.timestamp]: undefined };
      const neither = { ...noSignature, ...noTimestamp, [HEADERS.keyId]: undefined };
      return [
        ...refused(
          await service.deliver("an event without signature", event(service), { headers: noSignature }),
          DEMAND,
        ),
        ...refused(await service.deliver("one without timestamp", event(service), { headers: noTimestamp }), DEMAND),
        ...refused(
          await service.deliver("one without either and without key id", event(service), { headers: neither }),
          DEMAND,
        ),
      ];
    },
  },
  {
    name: "receiver.tampered-body",
    title: "A body that was changed after signing is refused with 401",
    why: "The signature covers the body so that nobody on the way can turn one amount into another.",
    async run(service) {
      const genuine = event(service);
      const sentBody = genuine.body.replace('"outstandingAfter":5000', '"outstandingAfter":5001');
      return refused(await service.deliver("an event with one digit changed", genuine, { sentBody }), VERIFY);
    },
  },
  {
    name: "receiver.exact-bytes",
    title: "The signature is checked over the bytes as they arrived",
    why: "What a parser read and printed again has other spaces, escapes and numbers. It matches for the events of today, and not for those of tomorrow.",
    async run(service) {
      const compact = event(service);
      const tampered = { sentBody: spaced(compact).body };
      return [
        ...refused(await service.deliver("an event whose body got spaces after signing", compact, tampered), RAW_BYTES),
        ...acknowledged(await service.deliver("one signed with its spaces", spaced(event(service))), RAW_BYTES),
      ];
    },
  },
  {
    name: "receiver.changed-timestamp",
    title: "An old signature under a new timestamp is refused with 401",
    why: "The signature covers the timestamp, or else an old request could be made fresh by whoever has seen it.",
    async run(service) {
      const now = Date.now();
      const deviation = { signedAt: now - 10 * MINUTE_MS, headers: { [HEADERS.timestamp]: String(now) } };
      return refused(
        await service.deliver("an event signed ten minutes ago, with the time of now", event(service), deviation),
        VERIFY,
      );
    },
  },
  {
    name: "receiver.stale-timestamp",
    title: "A timestamp more than five minutes old is refused with 401",
    why: "It limits for how long a request that somebody has seen can be sent to you again.",
    async run(service) {
      const made = await service.deliver("an event signed six minutes ago", event(service), {
        signedAt: Date.now() - 6 * MINUTE_MS,
      });
      return refused(made, COMPARE_CLOCKS);
    },
  },
  {
    name: "receiver.future-timestamp",
    title: "A timestamp more than five minutes ahead is refused with 401",
    why: "A signature for tomorrow would be good until then.",
    async run(service) {
      const made = await service.deliver("an event signed six minutes ahead", event(service), {
        signedAt: Date.now() + 6 * MINUTE_MS,
      });
      return refused(made, COMPARE_CLOCKS);
    },
  },
  {
    name: "receiver.clock-tolerance",
    title: "A timestamp less than five minutes away is taken",
    why: "No two clocks agree. Five minutes either way is what both sides allow.",
    async run(service) {
      const behind = await service.deliver("an event signed four minutes ago", event(service), {
        signedAt: Date.now() - 4 * MINUTE_MS,
      });
      const ahead = await service.deliver("one signed four minutes ahead", event(service), {
        signedAt: Date.now() + 4 * MINUTE_MS,
      });
      return [...acknowledged(behind, SET_CLOCK), ...acknowledged(ahead, SET_CLOCK)];
    },
  },
  {
    name: "receiver.key-rotation",
    title: "Events signed with the old and with the new key are taken",
    why: "While a key is changed, events of both are on their way. X-Service-Key-Id says which secret to take.",
    skip: ({ secondKey }) => (secondKey === undefined ? "needs --second-key-id and --second-secret" : null),
    async run(service) {
      const { key, secondKey = key } = service.settings;
      return [
        ...acknowledged(
          await service.deliver("an event signed with the first key", event(service), { key }),
          BOTH_KEYS,
        ),
        ...acknowledged(
          await service.deliver("one signed with the second", event(service), { key: secondKey }),
          BOTH_KEYS,
        ),
        ...acknowledged(await service.deliver("one more signed with the first", event(service), { key }), BOTH_KEYS),
      ];
    },
  },
];

function event(service: Parameters<Check["run"]>[0]): ReturnType<typeof service.event> {
  return service.event(service.newLoan());
}

const VERIFY =
  "Compute the HMAC-SHA256 of METHOD, PATH, X-Service-Timestamp and the raw body with a newline between, compare all 32 bytes in constant time, and answer 401 before anything is read or stored.";
const DEMAND = "Answer 401 when X-Service-Signature or X-Service-Timestamp is missing or empty.";
const RAW_BYTES =
  "Take the body's bytes before any parser has them (in Express: express.raw), sign those, and parse afterwards.";
const COMPARE_CLOCKS =
  "Refuse a timestamp more than 300,000 milliseconds from your clock, before or after it. X-Service-Timestamp is in milliseconds.";
const SET_CLOCK =
  "Allow 300,000 milliseconds either way, and see that your clock, and the one of the machine that runs this test, are set by NTP.";
const BOTH_KEYS = "Keep both secrets, and take the one that X-Service-Key-Id names.";
