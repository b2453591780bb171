import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders, ServerResponse } from "node:http";
import { AmountError, toMinor } from "./amount.ts";
import { misbehave, type Misbehaviour } from "./misbehaviour.ts";
import { distrustReason, type ReceivedRequest } from "./signer.ts";

/** The service's request (contract: Mint-link request). `amount` is in major units. */
export interface MintRequest {
  sourceLoanNumber: string;
  caseId: string;
  visitId: string;
  amount: number;
  currency: string;
  borrowerName: string;
  borrowerPhone: string;
  description: string;
}

/** The header that the lender registered for calls to its mint endpoint. */
export interface MintAuth {
  name: string;
  value: string;
}

/** A minted link, with the amount captured on it so far. */
export interface MintedLink extends Omit<MintRequest, "amount"> {
  linkId: string;
  url: string;
  amountMinor: bigint;
  capturedMinor: bigint;
}

/**
 * How the endpoint answers: correctly, with a wrong answer, or with a fault of the connection. `held` answers correctly
 * after `answerHeld()`.
 */
export type MintBehaviour =
  | "ok"
  | "held"
  | "refuse"
  | "garbage"
  | "noLinkId"
  | "publicUrl"
  | "httpUrl"
  | "javascriptUrl"
  | "hugeBody"
  | Misbehaviour;

/** One call of the mint endpoint. `repeated`: the Idempotency-Key was used before, so the link is the same. */
export interface MintRecord {
  receivedAt: number;
  headers: IncomingHttpHeaders;
  rawBody: string;
  /** The parsed body, even if it is invalid. */
  request: MintRequest;
  idempotencyKey: string | null;
  behaviour: MintBehaviour;
  outcome: "minted" | "repeated" | "notMinted" | "rejected";
  /** The reason for the rejection, or null. */
  rejection: string | null;
  linkId: string | null;
}

const HUGE_BODY_BYTES = 8 * 1024 * 1024;

/**
 * The behaviours with which no link is minted. With every other faulty behaviour the link is minted, and only the
 * answer is lost or wrong.
 */
const MINTS_NOTHING = new Set(["refuse", "garbage", "error500", "status", "redirect"]);

const ODD_ANSWERS: Partial<Record<MintBehaviour, (link: MintedLink) => object>> = {
  noLinkId: ({ url }) => ({ link: { url } }),
  publicUrl: ({ linkId }) => ({ link: { linkId, url: `HTTPS://Pay.Lender.example:443/a/../${linkId}` } }),
  httpUrl: ({ linkId }) => ({ link: { linkId, url: `http://pay.lender.example/${linkId}` } }),
  javascriptUrl: ({ linkId }) => ({ link: { linkId, url: "javascript:alert(document.cookie)" } }),
  hugeBody: ({ linkId, url }) => ({ link: { linkId, url }, padding: "x".repeat(HUGE_BODY_BYTES) }),
};

/** The lender's mint endpoint (contract: Lender-exposed endpoints). */
export class MintEndpoint {
  behaviour: MintBehaviour = "ok";
  readonly mints: MintRecord[] = [];
  readonly links: Map<string, MintedLink> = new Map();
  readonly #held: (() => void)[] = [];
  readonly #linkIdByKey: Map<string, { rawBody: string; linkId: string }> = new Map();
  readonly #auth: MintAuth;
  readonly #secrets: ReadonlyMap<string, string>;
  readonly #now: () => number;
  readonly #payUrl: (linkId: string) => string;

  constructor(options: {
    auth: MintAuth;
    secrets: ReadonlyMap<string, string>;
    now: () => number;
    payUrl: (linkId: string) => string;
  }) {
    this.#auth = options.auth;
    this.#secrets = options.secrets;
    this.#now = options.now;
    this.#payUrl = options.payUrl;
  }

  /** Answers one POST to the mint URL, and returns its record. */
  handle(incoming: ReceivedRequest, response: ServerResponse): MintRecord {
    const record = this.#open(incoming);
    this.mints.push(record);
    const rejection = this.#rejectionOf(incoming, record);
    if (rejection !== null) {
      record.outcome = "rejected";
      record.rejection = rejection.reason;
      answer(response, rejection.status, { success: false, error: rejection.reason });
      return record;
    }
    const link = MINTS_NOTHING.has(record.behaviour.split(":", 1)[0] ?? "") ? null : this.#linkFor(record);
    if (link === null) answerWithout(record.behaviour, response);
    else if (record.behaviour === "held") this.#held.push(() => answerWith("ok", link, response));
    else answerWith(record.behaviour, link, response);
    return record;
  }

  /** Answers the requests that arrived during the behaviour `held`. */
  answerHeld(): void {
    for (const answerNow of this.#held.splice(0)) answerNow();
  }

  #open({ headers, rawBody }: ReceivedRequest): MintRecord {
    const idempotencyKey = headers["idempotency-key"];
    return {
      receivedAt: this.#now(),
      headers,
      rawBody: rawBody.toString("utf8"),
      request: parsedOrNull(rawBody) as MintRequest,
      idempotencyKey: typeof idempotencyKey === "string" && idempotencyKey !== "" ? idempotencyKey : null,
      behaviour: this.behaviour,
      outcome: "notMinted",
      rejection: null,
      linkId: null,
    };
  }

  #rejectionOf(incoming: ReceivedRequest, record: MintRecord): { status: number; reason: string } | null {
    const given = incoming.headers[this.#auth.name.toLowerCase()];
    if (typeof given !== "string" || !isSameSecret(given, this.#auth.value)) {
      return { status: 401, reason: `the header ${this.#auth.name} does not have the registered value` };
    }
    const distrust = distrustReason(incoming, this.#secrets, this.#now());
    if (distrust !== null) return { status: 401, reason: distrust };
    if (!/^application\/json\b/.test(incoming.headers["content-type"] ?? "")) {
      return { status: 415, reason: "the body is not application/json" };
    }
    if (record.idempotencyKey === null) return { status: 400, reason: "the Idempotency-Key header is missing" };
    const faults = faultsOf(record.request);
    if (faults.length > 0) return { status: 422, reason: faults.join("; ") };
    const before = this.#linkIdByKey.get(record.idempotencyKey);
    if (before !== undefined && before.rawBody !== record.rawBody) {
      return { status: 422, reason: "this Idempotency-Key was used with another body before" };
    }
    return null;
  }

  #linkFor(record: MintRecord): MintedLink {
    const before = this.#linkIdByKey.get(record.idempotencyKey ?? "");
    const linkId = before?.linkId ?? `plink_${randomBytes(9).toString("hex")}`;
    const { amount, ...rest } = record.request;
    const link = this.links.get(linkId) ?? {
      ...rest,
      linkId,
      url: this.#payUrl(linkId),
      amountMinor: toMinor(amount, rest.currency),
      capturedMinor: 0n,
    };
    this.links.set(linkId, link);
    this.#linkIdByKey.set(record.idempotencyKey ?? "", { rawBody: record.rawBody, linkId });
    record.outcome = before === undefined ? "minted" : "repeated";
    record.linkId = linkId;
    return link;
  }
}

function answerWithout(behaviour: MintBehaviour, response: ServerResponse): void {
  if (behaviour === "refuse") return answer(response, 200, { success: false, error: "the gateway declined" });
  if (behaviour === "garbage") {
    response.writeHead(200, { "Content-Type": "text/html" }).end("<html>Bad gateway</html>");
    return;
  }
  misbehave(behaviour as Misbehaviour, response, () => {});
}

function answerWith(behaviour: MintBehaviour, link: MintedLink, response: ServerResponse): void {
  const { linkId, url } = link;
  const properly = () => answer(response, 200, { success: true, link: { linkId, url } });
  const oddly = ODD_ANSWERS[behaviour];
  if (behaviour === "ok") properly();
  else if (oddly !== undefined) answer(response, 200, { success: true, ...oddly(link) });
  else misbehave(behaviour as Misbehaviour, response, properly);
}

function faultsOf(request: unknown): string[] {
  if (typeof request !== "object" || request === null) return ["the body is not a JSON object"];
  const body = request as Record<string, unknown>;
  const texts = ["sourceLoanNumber", "caseId", "visitId", "currency", "borrowerName", "borrowerPhone", "description"];
  const faults = texts
    .filter((name) => typeof body[name] !== "string" || body[name] === "")
    .map((name) => `${name} is not a text`);
  if (!/^[A-Z]{3}$/.test(String(body["currency"]))) faults.push("currency is not an ISO 4217 code");
  if (typeof body["amount"] !== "number" || !(body["amount"] > 0)) faults.push("amount is not a number above 0");
  return faults.length > 0 ? faults : amountFaults(body["amount"] as number, body["currency"] as string);
}

function amountFaults(amount: number, currency: string): string[] {
  try {
    toMinor(amount, currency);
    return [];
  } catch (error) {
    if (error instanceof AmountError) return [error.message];
    throw error;
  }
}

function parsedOrNull(rawBody: Buffer): unknown {
  try {
    return JSON.parse(rawBody.toString("utf8"));
  } catch {
    return null;
  }
}

function isSameSecret(given: string, registered: string): boolean {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(given), digest(registered));
}

function answer(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(body));
}
