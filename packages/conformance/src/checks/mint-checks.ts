import { randomBytes } from "node:crypto";
import { warn, type Check, type Finding } from "./check.ts";
import { refused } from "./expectation.ts";
import { readLink } from "./link.ts";
import type { Settings } from "../stand-in/settings.ts";

const REFUSALS = [401, 403];

/** Whether the mint endpoint makes links as the contract has it, for the service only. contract: Mint-link request */
export const mintChecks: readonly Check[] = [
  {
    name: "mint.link",
    title: "A wish is answered with a linkId and an https URL",
    why: "The field partner stands at the door. Everything but this answer means that there is no link.",
    async run(service) {
      const { link, faults, saysSuccess } = readLink(await service.mint("a wish for a link", service.wish()));
      return link === null || saysSuccess ? faults : [NO_SUCCESS];
    },
  },
  {
    name: "mint.content-type",
    title: "The answer is application/json",
    why: "The service reads any JSON, and the logs and proxies between read the label.",
    async run(service) {
      const { outcome, mask } = await service.mint("a wish for a link", service.wish());
      const type = outcome.kind === "answer" ? (outcome.headers["content-type"] ?? "missing") : outcome.detail;
      if (/^application\/json\b/i.test(type)) return [];
      return [warn(`Content-Type is ${mask(type)}.`, "Send Content-Type: application/json.")];
    },
  },
  {
    name: "mint.wrong-auth",
    title: "A wrong auth header is refused with 401 or 403",
    why: "Whoever can mint links can send your borrowers payment requests in your name.",
    skip: needsAuthHeader,
    async run(service) {
      const { mintAuthHeader } = service.settings;
      const headers = { [mintAuthHeader!.name]: randomBytes(16).toString("hex") };
      return refused(
        await service.mint("a wish with another auth header", service.wish(), { headers }),
        AUTH,
        REFUSALS,
      );
    },
  },
  {
    name: "mint.missing-auth",
    title: "A missing auth header is refused with 401 or 403",
    why: "A check that is left out where its header is missing is no check.",
    skip: needsAuthHeader,
    async run(service) {
      const { mintAuthHeader } = service.settings;
      const headers = { [mintAuthHeader!.name]: undefined };
      return refused(await service.mint("a wish without the auth header", service.wish(), { headers }), AUTH, REFUSALS);
    },
  },
  {
    name: "mint.wrong-signature",
    title: "A signature by another secret is refused",
    why: "The auth header never changes, so one leaked request gives it away. The signature is new with every call.",
    async run(service) {
      const key = { ...service.settings.key, secret: `sk_${randomBytes(16).toString("hex")}` };
      const made = await service.mint("a wish signed with another secret", service.wish(), { key });
      return refused(made, SIGNATURE, REFUSALS).map(asWarning);
    },
  },
  {
    name: "mint.unknown-fields",
    title: "Fields that nobody knows yet are ignored",
    why: "Fields are added without notice.",
    async run(service) {
      const wish = service.wish({ extra: { language: "mr", visit: { attempts: 2 } } });
      const { faults } = readLink(await service.mint("a wish with new fields", wish));
      return faults.map((fault) => ({ ...fault, mend: "Ignore fields that you do not know, in a strict schema too." }));
    },
  },
  {
    name: "mint.utf8",
    title: "Text beyond ASCII is taken",
    why: "Borrowers have names in their own script, and verifying decoded text instead of bytes fails on them.",
    async run(service) {
      const wish = service.wish({ borrowerName: "Aśa “Asha” राव 🙂" });
      return readLink(await service.mint("a wish for a borrower named in Devanagari", wish)).faults;
    },
  },
];

/** The signature protects a mint endpoint beside the auth header: without it the endpoint still is not open. */
function asWarning(finding: Finding): Finding {
  return finding.mend === SIGNATURE ? warn(finding.problem, finding.mend) : finding;
}

function needsAuthHeader({ mintAuthHeader }: Settings): string | null {
  return mintAuthHeader === undefined ? "needs --mint-auth-header" : null;
}

const NO_SUCCESS = warn("The answer has no success: true.", "Add it; the contract has it in every answer with a link.");
const AUTH = "Compare the whole header with the registered one before anything else, and answer 401.";
const SIGNATURE = "Verify X-Service-Signature here as you do for events: same secret, same formula, over this path.";
