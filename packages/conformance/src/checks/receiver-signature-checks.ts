import { randomBytes } from "node:crypto";
import { HEADERS } from "@collections/signing";
import type { Check } from "./check.ts";
import { spaced } from "../stand-in/event.ts";
import { expectAcknowledged, expectRejected } from "./expectation.ts";

const MINUTE_MS = 60_000;

/** Checks that the receiver accepts what the service signed, and nothing else. contract: Webhook signing */
export const receiverSignatureChecks: readonly Check[] = [
  {
    name: "receiver.wrong-signature",
    title: "A signature made with another secret is rejected with 401",
    why: "Your callback is on the internet. Without this check, anyone who finds it could report payments that nobody made.",
    async run(service) {
      const { keyId } = service.settings.key;
      const key = { keyId, secret: `sk_${randomBytes(16).toString("hex")}` };
      const made = await service.deliver("an event signed with another secret", event(service), { key });
      return expectRejected(made, VERIFY);
    },
  },
  {
    name: "receiver.malformed-signature",
    title: "A malformed signature is rejected with 401, without a crash",
    why: "Functions that compare in constant time throw if the lengths differ, and a lenient hexadecimal decoder turns invalid text into an empty digest.",
    async run(service) {
      const short = { [HEADERS.signature]: "4f1c" };
      const noHex = { [HEADERS.signature]: "z".repeat(64) };
      return [
        ...expectRejected(
          await service.deliver("an event whose signature is 4f1c", event(service), { headers: short }),
          VERIFY,
        ),
        ...expectRejected(
          await service.deliver("an event whose signature is not hexadecimal", event(service), { headers: noHex }),
          VERIFY,
        ),
      ];
    },
  },
  {
    name: "receiver.missing-headers",
    title: "An event without signature or timestamp is rejected with 401",
    why: "If you only verify a signature when it is present, a forged event without a signature is accepted.",
    async run(service) {
      const noSignature = { [HEADERS.signature]: undefined };
      const noTimestamp = { [HEADERS.timestamp]: undefined };
      const neither = { ...noSignature, ...noTimestamp, [HEADERS.keyId]: undefined };
      return [
        ...expectRejected(
          await service.deliver("an event without signature", event(service), { headers: noSignature }),
          DEMAND,
        ),
        ...expectRejected(
          await service.deliver("an event without timestamp", event(service), { headers: noTimestamp }),
          DEMAND,
        ),
        ...expectRejected(
          await service.deliver("an event without signature, timestamp and key id", event(service), {
            headers: neither,
          }),
          DEMAND,
        ),
      ];
    },
  },
  {
    name: "receiver.tampered-body",
    title: "A body that was changed after signing is rejected with 401",
    why: "The signature covers the body, so that nobody can change an amount on the way.",
    async run(service) {
      const genuine = event(service);
      const sentBody = genuine.body.replace('"outstandingAfter":5000', '"outstandingAfter":5001');
      return expectRejected(await service.deliver("an event with one digit changed", genuine, { sentBody }), VERIFY);
    },
  },
  {
    name: "receiver.exact-bytes",
    title: "The signature is verified over the bytes as they arrived",
    why: "If you parse the body and serialise it again, spaces, escapes and numbers may differ. The signature may match for today's events and fail for later ones.",
    async run(service) {
      const compact = event(service);
      const tampered = { sentBody: spaced(compact).body };
      return [
        ...expectRejected(
          await service.deliver("an event with spaces added to its body after signing", compact, tampered),
          RAW_BYTES,
        ),
        ...expectAcknowledged(
          await service.deliver("an event signed with spaces in its body", spaced(event(service))),
          RAW_BYTES,
        ),
      ];
    },
  },
  {
    name: "receiver.changed-timestamp",
    title: "An old signature with a new timestamp is rejected with 401",
    why: "The signature covers the timestamp. Otherwise anyone who has seen an old request could send it again with a new timestamp.",
    async run(service) {
      const now = Date.now();
      const deviation = { signedAt: now - 10 * MINUTE_MS, headers: { [HEADERS.timestamp]: String(now) } };
      return expectRejected(
        await service.deliver("an event signed ten minutes ago, with the current timestamp", event(service), deviation),
        VERIFY,
      );
    },
  },
  {
    name: "receiver.stale-timestamp",
    title: "A timestamp more than five minutes old is rejected with 401",
    why: "This limits how long a recorded request can be sent to you again.",
    async run(service) {
      const made = await service.deliver("an event signed six minutes ago", event(service), {
        signedAt: Date.now() - 6 * MINUTE_MS,
      });
      return expectRejected(made, COMPARE_CLOCKS);
    },
  },
  {
    name: "receiver.future-timestamp",
    title: "A timestamp more than five minutes ahead is rejected with 401",
    why: "Otherwise a signature with tomorrow's timestamp would be valid until tomorrow.",
    async run(service) {
      const made = await service.deliver("an event signed six minutes ahead", event(service), {
        signedAt: Date.now() + 6 * MINUTE_MS,
      });
      return expectRejected(made, COMPARE_CLOCKS);
    },
  },
  {
    name: "receiver.clock-tolerance",
    title: "A timestamp less than five minutes away is accepted",
    why: "No two clocks agree exactly. Both sides allow a difference of five minutes.",
    async run(service) {
      const behind = await service.deliver("an event signed four minutes ago", event(service), {
        signedAt: Date.now() - 4 * MINUTE_MS,
      });
      const ahead = await service.deliver("an event signed four minutes ahead", event(service), {
        signedAt: Date.now() + 4 * MINUTE_MS,
      });
      return [...expectAcknowledged(behind, SET_CLOCK), ...expectAcknowledged(ahead, SET_CLOCK)];
    },
  },
  {
    name: "receiver.key-rotation",
    title: "Events signed with the old or the new key are accepted",
    why: "During a rotation, some events are signed with the old key and others with the new one. X-Service-Key-Id names the key.",
    skip: ({ secondKey }) => (secondKey === undefined ? "needs --second-key-id and --second-secret" : null),
    async run(service) {
      const { key, secondKey = key } = service.settings;
      return [
        ...expectAcknowledged(
          await service.deliver("an event signed with the first key", event(service), { key }),
          BOTH_KEYS,
        ),
        ...expectAcknowledged(
          await service.deliver("an event signed with the second key", event(service), { key: secondKey }),
          BOTH_KEYS,
        ),
        ...expectAcknowledged(
          await service.deliver("another event signed with the first key", event(service), { key }),
          BOTH_KEYS,
        ),
      ];
    },
  },
];

function event(service: Parameters<Check["run"]>[0]): ReturnType<typeof service.event> {
  return service.event(service.newLoan());
}

const VERIFY =
  "Compute the HMAC-SHA256 of METHOD, PATH, X-Service-Timestamp and the raw body, joined by newlines. Compare all 32 bytes in constant time. If they differ, answer 401 before you parse or store anything.";
const DEMAND = "Answer 401 if X-Service-Signature or X-Service-Timestamp is missing or empty.";
const RAW_BYTES =
  "Read the body's bytes before any parser does (in Express: express.raw), verify the signature over them, and parse afterwards.";
const COMPARE_CLOCKS =
  "Reject a timestamp that differs from your clock by more than 300,000 milliseconds in either direction. X-Service-Timestamp is in milliseconds.";
const SET_CLOCK =
  "Allow 300,000 milliseconds in either direction. Check that NTP sets your clock and the clock of the machine that runs this test.";
const BOTH_KEYS = "Keep both secrets, and use the one that X-Service-Key-Id names.";
