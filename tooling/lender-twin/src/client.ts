import { Agent as HttpAgent, request as httpRequest, type IncomingHttpHeaders } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import { sign, type SignedParts } from "./signer.ts";

/** Where the service is and who we are there. */
export interface Connection {
  serviceUrl: string;
  apiKeyId: string;
  hmacSecret: string;
}

/** The service's answer. `body` is the parsed JSON, or the text when the answer is not JSON. */
export interface Answer<Body = Record<string, unknown>> {
  status: number;
  headers: IncomingHttpHeaders;
  body: Body;
  rawBody: string;
}

/** Ways to break a call on purpose. `null` leaves a header away. */
export interface CallOverrides {
  /** Sent, and signed. */
  timestamp?: string;
  /** Sent in place of the right one, or made from it. */
  signature?: string | null | ((right: string) => string);
  authorization?: string | null;
  contentType?: string | null;
  /** Signed in place of what is sent. */
  signed?: Partial<SignedParts>;
  /** The secret to sign with, in place of ours. */
  hmacSecret?: string;
  /** The last word on any header. */
  headers?: Record<string, string | string[] | null>;
  /** How long to wait for the whole answer; 15 seconds unless told. */
  timeoutMs?: number;
}

/** What `confirm` sends (contract: Payment confirmation request). `amount` is in major units. */
export interface Confirmation {
  amount: number;
  reference: string;
  paidAt: string;
  mode: string;
  linkId?: string;
}

/** `call` was used before `connect` had said where the service is and which key signs. */
export class NotConnectedError extends Error {
  readonly code = "NOT_CONNECTED";

  constructor() {
    super("The lender has no connection yet: call connect({ serviceUrl, apiKeyId, hmacSecret }) first.");
    this.name = "NotConnectedError";
  }
}

/** A lender's side of the REST API: serialises once, signs those bytes, sends them. */
export class LenderClient {
  /** Every secret this lender was ever given, by key id: what the service sends may still be signed by an older one. */
  readonly secrets: Map<string, string> = new Map();
  readonly #now: () => number;
  readonly #agents = { http: new HttpAgent({ keepAlive: true }), https: new HttpsAgent({ keepAlive: true }) };
  #connection: Partial<Connection> = {};

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  /** Sets where the service is and which key signs from now on; what is left out stays as it was. */
  connect(connection: Partial<Connection>): void {
    this.#connection = { ...this.#connection, ...connection };
    const { apiKeyId, hmacSecret } = this.#connection;
    if (apiKeyId !== undefined && hmacSecret !== undefined) this.secrets.set(apiKeyId, hmacSecret);
  }

  /** Sends one signed request and resolves with whatever was answered; rejects only when no answer came.
   * @param path as it goes on the wire, percent-encoded; a query string is sent but not signed
   * @param body an object is serialised once; a string or bytes go out as they are
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
    return this.#send<Body>(base, { method, path: target, headers, bytes, timeoutMs: overrides.timeoutMs ?? 15_000 });
  }

  /** GET health: the smoke test of key, secret and clock. */
  health(): Promise<Answer> {
    return this.call("GET", "/api/v1/partner/health");
  }

  /** POST cases. `dryRun` and `atomic` travel in the query string. */
  importCases(rows: object[], options: { dryRun?: boolean; atomic?: boolean } = {}): Promise<Answer> {
    const query = Object.entries(options).flatMap(([name, wanted]) => (wanted ? [`${name}=true`] : []));
    return this.call("POST", `/api/v1/partner/cases${query.length > 0 ? `?${query.join("&")}` : ""}`, { rows });
  }

  /** GET cases/{loan}: the current state, which heals a gap in the events. */
  getCase<Body = Record<string, unknown>>(loan: string): Promise<Answer<Body>> {
    return this.call<Body>("GET", casePath(loan));
  }

  /** POST payments/confirm, once; see `confirmUntilAnswered` for what a lender does about a lost answer. */
  confirm(loan: string, payload: Confirmation | object | string): Promise<Answer> {
    return this.call("POST", confirmPath(loan), payload);
  }

  /** POST webhooks/test: a signed ping comes to our callback before this resolves. */
  testWebhook(): Promise<Answer> {
    return this.call("POST", "/api/v1/partner/webhooks/test");
  }

  /** Drops the idle connections to the service. */
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
      // The options, not a URL: a URL object would normalise the very path that we have signed.
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

/** The path of a confirmation. A loan may hold a slash, so it is percent-encoded, and signed like that. */
export function confirmPath(loan: string): string {
  return `${casePath(loan)}/payments/confirm`;
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

/** An override may spell a header in another case than we do; the last spelling wins. */
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
