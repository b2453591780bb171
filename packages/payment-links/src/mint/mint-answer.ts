import { describeFailure, type OutboundAnswer, type OutboundFailure } from "@collections/outbound";
import { checkLinkUrl, type LinkUrlRule } from "../link/link-url.ts";
import type { MintedLink, UnavailableLink } from "./record-mint.ts";
import type { UnavailableReason } from "../link/unavailable-reason.ts";

const MAX_LINK_ID_CHARS = 128;
const PRINTABLE = new RegExp(`^\\P{Cc}{1,${MAX_LINK_ID_CHARS}}$`, "u");

/** The minted link, or the reason why no link was minted. */
export type MintAnswer = { readonly minted: MintedLink } | UnavailableLink;

/**
 * Reads the answer to a mint call. Any 2xx status is a success. The URL of the minted link is canonical. `detail`
 * quotes nothing of the lender's answer except a host, because the answer may contain the borrower's data or the auth
 * header. contract: Mint-link response
 *
 * @example
 * const url = "https://lender.example.com/links";
 * const answer = await outbound.request({ method: "POST", url, body: "{}", timeoutMs: 10_000 });
 * const read = readMintAnswer(answer, { allow: { entries: [] }, hosts: ["pay.acme.example"] });
 * if ("unavailable" in read) await recordUnavailable(tx, link, read, now);
 */
export function readMintAnswer(answer: OutboundAnswer, rule: LinkUrlRule): MintAnswer {
  if (answer.kind === "failure") {
    const { code, ownFault } = answer;
    return { unavailable: REASON_OF_FAILURE[code], detail: describeFailure(answer), ownFault };
  }
  if (answer.status < 200 || answer.status > 299) {
    return unavailable("non_2xx", `The lender answered with status ${answer.status} instead of 2xx.`);
  }
  if (answer.bodyCut !== false) return unavailable(...CUT[answer.bodyCut](answer));
  const body = parseObject(answer.body);
  return body ? readBody(body, rule) : unavailable("bad_answer", "The answer is not a JSON object in UTF-8.");
}

const REASON_OF_FAILURE: Readonly<Record<OutboundFailure["code"], UnavailableReason>> = {
  TIMEOUT: "timeout",
  DNS: "dns",
  CONNECT: "connect",
  TLS: "tls",
  BLOCKED_ADDRESS: "blocked_address",
  ABORTED: "outcome_unknown",
};

type Answered = Extract<OutboundAnswer, { kind: "answer" }>;
type Cut = Exclude<Answered["bodyCut"], false>;

const CUT: Readonly<Record<Cut, (answer: Answered) => readonly [UnavailableReason, string]>> = {
  too_large: () => ["bad_answer", "The answer is larger than the allowed maximum."],
  deadline: () => ["timeout", "The answer started, but did not end within the time limit."],
  broken: () => ["connect", "The connection broke before the answer ended."],
  unknown_coding: ({ contentCoding }) => [
    "bad_answer",
    `The answer has the content coding ${contentCoding}. Only gzip, deflate and br are decoded.`,
  ],
  invalid_coding: ({ contentCoding }) => ["bad_answer", `The answer is not valid ${contentCoding}.`],
};

type JsonObject = Readonly<Record<string, unknown>>;

function readBody(body: JsonObject, rule: LinkUrlRule): MintAnswer {
  if (body["success"] === false) return unavailable("refused", "The lender answered success: false.");
  if (body["success"] !== undefined && body["success"] !== true) {
    return unavailable("bad_answer", "The field success is neither true nor false.");
  }
  const link = asObject(body["link"]);
  if (!link) return unavailable("bad_answer", "The answer has no object in the field link.");
  const linkId = readLinkId(link["linkId"]);
  if (linkId === undefined) {
    return unavailable("bad_answer", `link.linkId is not a string of 1 to ${MAX_LINK_ID_CHARS} printable characters.`);
  }
  const url = link["url"];
  if (typeof url !== "string") return unavailable("bad_url", "link.url is not a string.");
  const verdict = checkLinkUrl(url, rule);
  return verdict.ok ? { minted: { linkId, url: verdict.url } } : unavailable("bad_url", verdict.reason);
}

/** Returns the linkId without surrounding spaces. A linkId in a confirmation is trimmed in the same way. */
function readLinkId(value: unknown): string | undefined {
  if (typeof value !== "string") return undefined;
  const linkId = value.trim();
  return PRINTABLE.test(linkId) && linkId.isWellFormed() ? linkId : undefined;
}

function parseObject(body: Uint8Array): JsonObject | undefined {
  try {
    return asObject(JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body)));
  } catch {
    return undefined;
  }
}

function asObject(value: unknown): JsonObject | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined;
}

function unavailable(reason: UnavailableReason, detail: string): MintAnswer {
  return { unavailable: reason, detail };
}
