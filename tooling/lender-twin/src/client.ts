import { Agent as HttpAgent, request as httpRequest, type IncomingHttpHeaders } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import { sign, type SignedParts } from "./signer.ts";

/** The path of a reconciliation. */
export const RECONCILE_PATH = "/api/v1/partner/payments/reconcile";

/** The service's URL and the lender's key. */
export interface Connection {
  serviceUrl: string;
  apiKeyId: string;
  hmacSecret: string;
}

/** The service's answer. `body` is the parsed JSON, or the text if the answer is not JSON. */
export interface Answer<Body = Record<string, unknown>> {
  status: number;
  headers: IncomingHttpHeaders;
  body: Body;
  rawBody: string;
}

/** Deviations from a valid call, for tests. `null` omits a header. */
export interface CallOverrides {
  /** The timestamp to send and to sign. */
  timestamp?: string;
  /** The signature to send instead of the correct one, or a function that computes it from the correct one. */
  signature?: string | null | ((right: string) => string);
  authorization?: string | null;
  contentType?: string | null;
  /** Values to sign instead of those that are sent, so that the signature does not match the request. */
  signed?: Partial<SignedParts>;
  /** The secret to sign with instead of the lender's. */
  hmacSecret?: string;
  /**
   * Headers to add, replace or (with `null`) omit. They are applied last, so they also change the headers that the
   * client has set.
   */
  headers?: Record<string, string | string[] | null>;
  /** The time limit for the complete answer; default: the client's. */
  timeoutMs?: number;
}

/** The body of `confirm` (contract: Payment confirmation request). `amount` is in major units. */
export interface Confirmation {
  amount: number;
  reference: string;
  paidAt: string;
  mode: string;
  linkId?: string;
  partOf?: string;
}

/** The body of `reverse` (contract: Payment reversal request). `amount` is in major units. */
export interface PaymentReversal {
  reference: string;
  reversalReference: string;
  reversedAt: string;
  amount?: number;
  reason: string;
  note?: string;
}

/** `call` was used before `connect` had set the service's URL and the key. */
export class NotConnectedError extends Error {
  readonly code = "NOT_CONNECTED";

  constructor() {
    super("The lender has no connection yet: call connect({ serviceUrl, apiKeyId, hmacSecret }) first.");
    this.name = "NotConnectedError";
  }
}

/** A lender's client of the REST API. It serialises each body once, and signs and sends exactly those bytes. */
export class LenderClient {
  /** Every secret that this lender ever had, by key id: the service may still sign with an older key. */
  readonly secrets: Map<string, string> = new Map();
  readonly #now: () => number;
  readonly #timeoutMs: number;
  readonly #agents = { http: new HttpAgent({ keepAlive: true }), https: new HttpsAgent({ keepAlive: true }) };
  #connection: Partial<Connection> = {};

  /** @param timeoutMs the time limit for each complete answer; the default ends hung tests, also on a slow machine */
  constructor(now: () => number = Date.now, timeoutMs: number = 5 * 60_000) {
    this.#now = now;
    this.#timeoutMs = timeoutMs;
  }

  /** Sets the service's URL and the key to sign with; omitted fields stay unchanged. */
  connect(connection: Partial<Connection>): void {
    this.#connection = { ...this.#connection, ...connection };
    const { apiKeyId, hmacSecret } = this.#connection;
    if (apiKeyId !== undefined && hmacSecret !== undefined) this.secrets.set(apiKeyId, hmacSecret);
  }

  /** Sends one signed request and resolves with any answer; rejects only if no answer arrives.
   * @param path percent-encoded, sent unchanged; a query string is sent but not signed
   * @param body an object is serialised once; a string or bytes are sent unchanged
   */
  call<Body = Record<string, unknown>>(
    method: string,
    path: string,
    body: string | Uint8Array | object = "",
    overrides: CallOverrides = {},
  ): Promise<Answer<Body>> {
    const { serviceUrl, apiKeyId, hmacSecret } = this.#connection;
    if (serviceUrl === undefined || apiKeyId === undefined || hmacSecret === undefined) {
      return Promise.reject(new NotConnectedError());
    }
    const bytes = bytesOf(body);
    const base = new URL(serviceUrl);
    const target = base.pathname.replace(/\/$/, "") + path;
    const timestamp = overrides.timestamp ?? String(this.#now());
    const right = sign(overrides.hmacSecret ?? hmacSecret, {
      method,
      path: target.split("?", 1)[0] ?? target,
      timestamp,
      body: bytes,
      ...overrides.signed,
    });
    const headers = withoutNulls({
      Authorization: orElse(overrides.authorization, `Bearer ${apiKeyId}`),
      "Content-Type": orElse(overrides.contentType, "application/json"),
      "Content-Length": bytes.length > 0 || method !== "GET" ? String(bytes.length) : null,
      "X-Service-Timestamp": timestamp,
      "X-Service-Signature":
        typeof overrides.signature === "function" ? overrides.signature(right) : orElse(overrides.signature, right),
      ...overrides.headers,
    });
    const timeoutMs = overrides.timeoutMs ?? this.#timeoutMs;
    return this.#send<Body>(base, { method, path: target, headers, bytes, timeoutMs });
  }

  /** Sends GET health, by which the service checks the API key, the secret and the clock of the lender. */
  health(): Promise<Answer> {
    return this.call("GET", "/api/v1/partner/health");
  }

  /** POST cases. `dryRun` and `atomic` are sent in the query string. */
  importCases(rows: object[], options: { dryRun?: boolean; atomic?: boolean } = {}): Promise<Answer> {
    const query = Object.entries(options).flatMap(([name, wanted]) => (wanted ? [`${name}=true`] : []));
    return this.call("POST", `/api/v1/partner/cases${query.length > 0 ? `?${query.join("&")}` : ""}`, { rows });
  }

  /** GET cases/{loan}: the current state, which replaces missing events. */
  getCase<Body = Record<string, unknown>>(loan: string): Promise<Answer<Body>> {
    return this.call<Body>("GET", casePath(loan));
  }

  /** POST payments/confirm, once. `confirmUntilAnswered` also handles lost answers. */
  confirm(loan: string, payload: Confirmation | object | string): Promise<Answer> {
    return this.call("POST", confirmPath(loan), payload);
  }

  /** POST payments/reverse, once. `reverseUntilAnswered` also handles lost answers. */
  reverse(loan: string, payload: PaymentReversal | object | string): Promise<Answer> {
    return this.call("POST", reversePath(loan), payload);
  }

  /** POST payments/reconcile: compares the lender's own payments of a window with the booked payments. */
  reconcile<Body = Record<string, unknown>>(request: {
    readonly from: string;
    readonly to: string;
    readonly rows: readonly unknown[];
  }): Promise<Answer<Body>> {
    return this.call<Body>("POST", RECONCILE_PATH, request);
  }

  /** GET payments/reconcile/{runId}: an earlier answer of `reconcile`. */
  getReconciliation<Body = Record<string, unknown>>(runId: string): Promise<Answer<Body>> {
    return this.call<Body>("GET", `/api/v1/partner/payments/reconcile/${encodeURIComponent(runId)}`);
  }

  /** POST webhooks/test: our callback receives a signed ping before this resolves. */
  testWebhook(): Promise<Answer> {
    return this.call("POST", "/api/v1/partner/webhooks/test");
  }

  /** Closes the idle connections to the service. */
  disconnect(): void {
    this.#agents.http.destroy();
    this.#agents.https.destroy();
  }

  #send<Body>(base: URL, { method, path, headers, bytes, timeoutMs }: WireRequest): Promise<Answer<Body>> {
    const secure = base.protocol === "https:";
    const options = { hostname: base.hostname.replace(/^\[|\]$/g, ""), port: base.port, method, path, headers };
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        outgoing.destroy(new Error(`no complete answer to ${method} ${path} within ${timeoutMs} ms`));
      }, timeoutMs);
      // Uses options and not a URL object, which would normalise the path that was signed.
      const outgoing = secure
        ? httpsRequest({ ...options, agent: this.#agents.https })
        : httpRequest({ ...options, agent: this.#agents.http });
      outgoing.on("close", () => clearTimeout(timer));
      outgoing.on("error", reject);
      outgoing.on("response", (incoming) => {
        const chunks: Buffer[] = [];
        incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
        incoming.on("error", reject);
        incoming.on("end", () => {
          const rawBody = Buffer.concat(chunks).toString("utf8");
          const { statusCode: status = 0, headers: answered } = incoming;
          resolve({ status, headers: answered, body: parsed(rawBody, answered["content-type"]) as Body, rawBody });
        });
      });
      outgoing.end(bytes);
    });
  }
}

/**
 * Returns the path of a confirmation. A loan number may contain a slash, so the number is percent-encoded, and the
 * encoded path is signed.
 */
export function confirmPath(loan: string): string {
  return `${casePath(loan)}/payments/confirm`;
}

/** Returns the path of a reversal. */
export function reversePath(loan: string): string {
  return `${casePath(loan)}/payments/reverse`;
}

function casePath(loan: string): string {
  return `/api/v1/partner/cases/${encodeURIComponent(loan)}`;
}

interface WireRequest {
  method: string;
  path: string;
  headers: Record<string, string | string[]>;
  bytes: Uint8Array;
  timeoutMs: number;
}

function bytesOf(body: string | Uint8Array | object): Uint8Array {
  if (body instanceof Uint8Array) return body;
  return Buffer.from(typeof body === "string" ? body : JSON.stringify(body), "utf8");
}

function orElse(override: string | null | undefined, usual: string): string | null {
  return override === undefined ? usual : override;
}

/** Removes headers that are null. Overrides may write a header's name in another case; the last one counts. */
function withoutNulls(headers: Record<string, string | string[] | null>): Record<string, string | string[]> {
  const kept = new Map<string, [string, string | string[] | null]>();
  for (const [name, value] of Object.entries(headers)) kept.set(name.toLowerCase(), [name, value]);
  return Object.fromEntries([...kept.values()].flatMap(([name, value]) => (value === null ? [] : [[name, value]])));
}

function parsed(rawBody: string, contentType: string | undefined): unknown {
  if (!/[/+]json\b/.test(contentType ?? "")) return rawBody;
  try {
    return JSON.parse(rawBody);
  } catch {
    return rawBody;
  }
}
