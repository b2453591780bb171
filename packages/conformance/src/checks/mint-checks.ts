import { randomBytes } from "node:crypto";
import { HEADERS } from "@collections/signing";
import { warn, type Check, type Finding } from "./check.ts";
import { expectRejected } from "./expectation.ts";
import { readLink } from "./link.ts";
import type { Settings } from "../stand-in/settings.ts";
import type { Exchange } from "../stand-in/stand-in.ts";

const REJECTED = [401, 403];
const MINUTE_MS = 60_000;

/**
 * Checks that the mint endpoint makes valid links, and that it makes them for no other caller than the service.
 * contract: Mint-link request
 */
export const mintChecks: readonly Check[] = [
  {
    name: "mint.link",
    title: "A link request is answered with a linkId and an https URL",
    why: "The field partner is waiting at the borrower's door. With any other answer there is no link.",
    async run(service) {
      const { link, faults, saysSuccess } = readLink(await service.mint("a link request", service.linkRequest()));
      return link === null || saysSuccess ? faults : [NO_SUCCESS];
    },
  },
  {
    name: "mint.content-type",
    title: "The answer is application/json",
    why: "The service parses JSON of any content type, but proxies and logs in between rely on the header.",
    async run(service) {
      const { outcome, mask } = await service.mint("a link request", service.linkRequest());
      const type = outcome.kind === "answer" ? (outcome.headers["content-type"] ?? "missing") : outcome.detail;
      if (/^application\/json\b/i.test(type)) return [];
      return [warn(`Content-Type is ${mask(type)}.`, "Send Content-Type: application/json.")];
    },
  },
  {
    name: "mint.wrong-auth",
    title: "A wrong auth header is rejected with 401 or 403",
    why: "Anyone who can mint links can send your borrowers payment requests in your name.",
    skip: needsAuthHeader,
    async run(service) {
      const { mintAuthHeader } = service.settings;
      const headers = { [mintAuthHeader!.name]: randomBytes(16).toString("hex") };
      return expectRejected(
        await service.mint("a link request with another auth header", service.linkRequest(), { headers }),
        AUTH,
        REJECTED,
      );
    },
  },
  {
    name: "mint.missing-auth",
    title: "A missing auth header is rejected with 401 or 403",
    why: "If your endpoint only checks the header when it is present, a caller without the header gets a link.",
    skip: needsAuthHeader,
    async run(service) {
      const { mintAuthHeader } = service.settings;
      const headers = { [mintAuthHeader!.name]: undefined };
      return expectRejected(
        await service.mint("a link request without the auth header", service.linkRequest(), { headers }),
        AUTH,
        REJECTED,
      );
    },
  },
  {
    name: "mint.wrong-signature",
    title: "A signature made with another secret is rejected",
    why: "The auth header never changes, so one leaked request reveals it. The signature is different for every call.",
    async run(service) {
      const key = { ...service.settings.key, secret: `sk_${randomBytes(16).toString("hex")}` };
      const made = await service.mint("a link request signed with another secret", service.linkRequest(), { key });
      return forged(service.settings, made, SIGNATURE);
    },
  },
  {
    name: "mint.missing-headers",
    title: "A link request without signature or timestamp is rejected",
    why: "If you only verify a signature when it is present, a forged link request without a signature is answered with a link.",
    async run(service) {
      const noSignature = { [HEADERS.signature]: undefined };
      const noTimestamp = { [HEADERS.timestamp]: undefined };
      const neither = { ...noSignature, ...noTimestamp, [HEADERS.keyId]: undefined };
      const findings: Finding[] = [];
      for (const [what, headers] of [
        ["a link request without signature", noSignature],
        ["a link request without timestamp", noTimestamp],
        ["a link request without signature, timestamp and key id", neither],
      ] as const) {
        const made = await service.mint(what, service.linkRequest(), { headers });
        findings.push(...forged(service.settings, made, SIGNATURE));
      }
      return findings;
    },
  },
  {
    name: "mint.stale-timestamp",
    title: "A timestamp more than five minutes old is rejected",
    why: "This limits how long a recorded link request can be sent to you again.",
    async run(service) {
      const deviation = { signedAt: Date.now() - 6 * MINUTE_MS };
      const made = await service.mint("a link request signed six minutes ago", service.linkRequest(), deviation);
      return forged(service.settings, made, COMPARE_CLOCKS);
    },
  },
  {
    name: "mint.tampered-body",
    title: "A body that was changed after signing is rejected",
    why: "The signature covers the body, so that nobody can change the amount on the way.",
    async run(service) {
      const genuine = service.linkRequest({ amount: 150 });
      const sentBody = genuine.body.replace('"amount":150', '"amount":151');
      const made = await service.mint("a link request with one digit changed", genuine, { sentBody });
      return forged(service.settings, made, SIGNATURE);
    },
  },
  {
    name: "mint.unknown-fields",
    title: "Unknown fields are ignored",
    why: "The service may add fields without notice.",
    async run(service) {
      const linkRequest = service.linkRequest({ extra: { language: "mr", visit: { attempts: 2 } } });
      const { faults } = readLink(await service.mint("a link request with new fields", linkRequest));
      return faults.map((fault) => ({
        ...fault,
        mend: "Ignore fields that you do not know; make a strict schema allow them.",
      }));
    },
  },
  {
    name: "mint.utf8",
    title: "Text beyond ASCII is accepted",
    why: "Borrowers' names may be in any script. If you verify decoded text instead of bytes, the signature does not match for such names.",
    async run(service) {
      const linkRequest = service.linkRequest({ borrowerName: "Aśa “Asha” राव 🙂" });
      return readLink(await service.mint("a link request for a borrower with a Devanagari name", linkRequest)).faults;
    },
  },
];

/**
 * Reports an endpoint that answers a forged link request as if it were valid. With a registered auth header this is only a
 * warning, because the header still protects the endpoint. contract: Mint-link request
 */
function forged({ mintAuthHeader }: Settings, made: Exchange, mend: string): Finding[] {
  const findings = expectRejected(made, mend, REJECTED);
  if (mintAuthHeader === undefined) return findings;
  return findings.map((finding) => (finding.mend === mend ? warn(finding.problem, mend) : finding));
}

function needsAuthHeader({ mintAuthHeader }: Settings): string | null {
  return mintAuthHeader === undefined ? "needs --mint-auth-header" : null;
}

const NO_SUCCESS = warn(
  "The answer has no success: true.",
  "Add success: true. The contract shows it in every answer with a link.",
);
const AUTH = "Compare the whole header with the registered one before anything else, and answer 401 if it differs.";
const SIGNATURE =
  "Verify X-Service-Signature here as you do for events: with the same secret and formula, over this path.";
const COMPARE_CLOCKS =
  "Reject a timestamp that differs from your clock by more than 300,000 milliseconds in either direction. X-Service-Timestamp is in milliseconds.";
