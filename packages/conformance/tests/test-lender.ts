import { createHmac, randomInt, randomUUID, timingSafeEqual } from "node:crypto";
import {
  createServer,
  type IncomingHttpHeaders,
  type RequestListener,
  type Server,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";

export const KEY = { keyId: "lk_first", secret: "sk_sandbox_first_secret" };
export const SECOND_KEY = { keyId: "lk_second", secret: "sk_sandbox_second_secret" };
export const MINT_AUTH = { name: "X-Mint-Token", value: "a-token-of-mine" };

export interface Received {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly rawBody: Buffer;
}

export interface LenderEvent {
  readonly eventId: string;
  readonly kind: string;
  readonly sourceLoanNumber: string | null;
  readonly sequence: number;
  readonly status: string;
  readonly totalCollected: number;
  readonly outstandingAfter: number;
  readonly data: { readonly amount?: number };
}

export interface View {
  sequence: number;
  status: string;
  totalCollected: number;
  outstandingAfter: number;
}

export interface MintRequest {
  readonly sourceLoanNumber: string;
  readonly amount: number;
}

export interface MadeLink {
  readonly linkId: string;
  readonly url: string;
  readonly amount: number;
}

export type Reply = readonly [status: number, body?: unknown, headers?: Record<string, string>];

/** A correct lender in small steps. A test can replace any step with a faulty one. */
export class TestLender {
  readonly seen: Set<string> = new Set();
  readonly views: Map<string, View> = new Map();
  readonly links: Map<string, MadeLink> = new Map();
  url = "";

  /** The first step for each request. Returns true if this step sends the response itself. */
  intercept(_request: Received, _response: ServerResponse): boolean {
    return false;
  }

  secretOf(keyId: string | undefined): string | undefined {
    return [KEY, SECOND_KEY].find((key) => key.keyId === keyId)?.secret;
  }

  isGenuine(request: Received): boolean {
    const { "x-service-signature": signature, "x-service-timestamp": timestamp } = request.headers;
    const secret = this.secretOf(request.headers["x-service-key-id"] as string | undefined);
    if (typeof signature !== "string" || typeof timestamp !== "string" || secret === undefined) return false;
    return this.isFresh(Number(timestamp)) && this.isSigned(secret, request, timestamp, signature);
  }

  isFresh(timestampMs: number): boolean {
    return Math.abs(Date.now() - timestampMs) <= 300_000;
  }

  isSigned(secret: string, request: Received, timestamp: string, signature: string): boolean {
    const { method, path } = request;
    const given = Buffer.from(signature, "hex");
    const head = `${method}\n${path}\n${timestamp}\n`;
    const right = createHmac("sha256", secret).update(head).update(this.signedBody(request)).digest();
    return given.length === right.length && timingSafeEqual(given, right);
  }

  signedBody({ rawBody }: Received): Buffer | string {
    return rawBody;
  }

  decode({ rawBody }: Received): string {
    return rawBody.toString("utf8");
  }

  receive(request: Received): Reply | Promise<Reply> {
    return this.isGenuine(request) ? this.take(JSON.parse(this.decode(request)) as LenderEvent) : [401];
  }

  take(event: LenderEvent): Reply | Promise<Reply> {
    if (this.seen.has(event.eventId)) return [200, { duplicate: true }];
    this.seen.add(event.eventId);
    if (event.sourceLoanNumber !== null) this.apply(event.sourceLoanNumber, event);
    return [200, { received: true }];
  }

  apply(loan: string, event: LenderEvent): void {
    if (event.sequence > (this.views.get(loan)?.sequence ?? 0)) this.views.set(loan, viewOf(event));
  }

  isFromService({ headers }: Received): boolean {
    return headers[MINT_AUTH.name.toLowerCase()] === MINT_AUTH.value;
  }

  mint(request: Received): Reply | Promise<Reply> {
    if (!this.isFromService(request) || !this.isGenuine(request)) return [401];
    const key = request.headers["idempotency-key"] as string;
    return this.linkFor(key, JSON.parse(this.decode(request)) as MintRequest);
  }

  linkFor(key: string, linkRequest: MintRequest): Reply | Promise<Reply> {
    return this.keep(key, this.links.get(key) ?? this.newLink(linkRequest));
  }

  keep(key: string, link: MadeLink): Reply {
    this.links.set(key, link);
    return [200, this.answerWith(link)];
  }

  newLink({ amount }: MintRequest): MadeLink {
    const linkId = `plink_${randomUUID()}`;
    return { linkId, url: `https://pay.lender.example/l/${linkId}`, amount: this.exact(amount) };
  }

  exact(amount: number): number {
    return amount;
  }

  answerWith({ linkId, url }: MadeLink): unknown {
    return { success: true, link: { linkId, url } };
  }

  state(loan: string): Reply {
    const view = this.views.get(loan);
    const links = loan === "LN-1001" ? [...this.links.values()] : undefined;
    return view === undefined && links === undefined ? [404] : [200, { ...view, links }];
  }
}

/** Creates a correct lender in which the given steps replace the correct ones. */
export function lenderWith(otherwise: Partial<TestLender> & ThisType<TestLender>): TestLender {
  return Object.assign(new TestLender(), otherwise);
}

export function viewOf({ sequence, status, totalCollected, outstandingAfter }: LenderEvent): View {
  return { sequence, status, totalCollected, outstandingAfter };
}

/** Serves a lender on 127.0.0.1 until `close`. */
export async function serve(lender: TestLender): Promise<Served> {
  const served = await serveHttp(createServer(listenerFor(lender)));
  lender.url = served.url;
  return served;
}

export interface Served {
  readonly url: string;
  readonly close: () => Promise<void>;
}

export async function serveHttp(server: Server): Promise<Served> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const close = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close };
}

/** Returns a free port. It likely stays free, because it is below the range that systems assign to connections. */
export async function unusedPort(): Promise<number> {
  for (;;) {
    const port = randomInt(20_000, 32_000);
    const server = createServer();
    const isFree = await new Promise<boolean>((resolve) => {
      server.once("error", () => resolve(false)).listen(port, "127.0.0.1", () => resolve(true));
    });
    await new Promise((resolve) => server.close(resolve));
    if (isFree) return port;
  }
}

export function listenerFor(lender: TestLender): RequestListener {
  return (incoming, response) => {
    const chunks: Buffer[] = [];
    incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
    incoming.on("end", () => {
      const { method = "", url = "", headers } = incoming;
      const request = { method, path: url.split("?")[0]!, headers, rawBody: Buffer.concat(chunks) };
      if (!lender.intercept(request, response)) void answer(lender, request, response);
    });
  };
}

async function answer(lender: TestLender, request: Received, response: ServerResponse): Promise<void> {
  const [status, body, headers] = await replyTo(lender, request).catch((error: unknown): Reply => [500, String(error)]);
  response.writeHead(status, { "Content-Type": "application/json", ...headers });
  response.end(body === undefined ? "" : JSON.stringify(body));
}

async function replyTo(lender: TestLender, request: Received): Promise<Reply> {
  const { path } = request;
  if (path === "/hooks") return lender.receive(request);
  if (path === "/mint") return lender.mint(request);
  const loan = /^\/state\/(.+)$/.exec(path)?.[1];
  return loan === undefined ? [404] : lender.state(decodeURIComponent(loan));
}
