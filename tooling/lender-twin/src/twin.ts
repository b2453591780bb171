import { randomBytes } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { LenderClient, type Answer } from "./client.ts";
import type { LoanView, WebhookEvent } from "./loan-view.ts";
import { MintEndpoint, type MintAuth, type MintBehaviour, type MintedLink, type MintRecord } from "./mint-endpoint.ts";
import { PayDesk, type Capture } from "./pay-desk.ts";
import { servePayPage } from "./pay-page.ts";
import type { DayWindow, ReconciledDay } from "./reconcile-day.ts";
import {
  WebhookReceiver,
  type Gap,
  type ReceivedDelivery,
  type ReceivedEvent,
  type ReceiverBehaviour,
  type RejectedDelivery,
} from "./receiver.ts";
import type { ReceivedRequest } from "./signer.ts";
import { WAIT_LIMIT_MS, Waiting } from "./waiting.ts";

const MINT_PATH = "/mint-link";
const CALLBACK_PATH = "/hooks/collections";

export interface LenderTwinOptions {
  /** The port to listen on. Default 0: a free port. */
  port?: number;
  /** The header that the mint endpoint requires. Default: a random one, see `twin.mintAuth`. */
  mintAuth?: MintAuth;
  credentials?: { apiKeyId: string; hmacSecret: string };
  serviceUrl?: string;
  /** The first part of the pay pages' URLs, such as a proxy with TLS in front of the twin. Default: its own URL. */
  publicUrl?: string;
  /** The lender's clock, in Unix milliseconds. */
  now?: () => number;
  /** How long a payment's confirmation is retried; default 60 seconds. */
  confirmForMs?: number;
  /** The time limit for the complete answer to a request; default 5 minutes. */
  timeoutMs?: number;
  /** Called with one line of text for each thing that happens. */
  log?: (line: string) => void;
}

/** Starts a lender on 127.0.0.1: mint endpoint, webhook receiver, pay page and a client of the service. */
export async function startLenderTwin(options: LenderTwinOptions = {}): Promise<LenderTwin> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(options.port ?? 0, "127.0.0.1", resolve);
  });
  return new LenderTwin(server, options);
}

/** A lender that is written against the published contract only, with switches that make it misbehave. */
export class LenderTwin extends LenderClient {
  readonly url: string;
  /** Register it as the lender's mintLinkUrl, together with `mintAuth`. */
  readonly mintUrl: string;
  readonly mintAuth: MintAuth;
  /** Register it as the lender's callback URL. */
  readonly callbackUrl: string;
  /** Requests to unknown paths, such as the target of `redirect`: "POST /elsewhere". */
  readonly strayRequests: string[] = [];
  readonly #server: Server;
  readonly #mint: MintEndpoint;
  readonly #receiver: WebhookReceiver;
  readonly #desk: PayDesk;
  readonly #waiting = new Waiting();
  readonly #publicUrl: string;
  readonly #log: (line: string) => void;

  constructor(server: Server, options: LenderTwinOptions) {
    const now = options.now ?? Date.now;
    super(now, options.timeoutMs);
    this.#server = server;
    this.#log = options.log ?? (() => {});
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    this.#publicUrl = options.publicUrl ?? this.url;
    this.mintUrl = this.url + MINT_PATH;
    this.callbackUrl = this.url + CALLBACK_PATH;
    this.mintAuth = options.mintAuth ?? { name: "X-Lender-Auth", value: randomBytes(16).toString("hex") };
    const secrets = this.secrets;
    const payUrl = (linkId: string) => this.payUrl(linkId);
    this.#mint = new MintEndpoint({ auth: this.mintAuth, secrets, now, payUrl });
    this.#receiver = new WebhookReceiver({
      secrets,
      now,
      fetchCase: (loan) => this.#fetchCase(loan),
      changed: () => this.#waiting.changed(),
    });
    this.#desk = new PayDesk({
      links: this.#mint.links,
      client: this,
      now,
      confirmForMs: options.confirmForMs ?? 60_000,
    });
    this.connect({
      ...options.credentials,
      ...(options.serviceUrl === undefined ? {} : { serviceUrl: options.serviceUrl }),
    });
    server.on("request", (incoming, response) => void this.#serve(incoming, response));
  }

  payUrl(linkId: string): string {
    return `${this.#publicUrl}/pay/${linkId}`;
  }

  /** Answers the mint requests that arrived during the behaviour `held`. */
  answerHeldMints(): void {
    this.#mint.answerHeld();
  }

  /** Every call of the mint endpoint, including rejected ones. */
  get mints(): readonly MintRecord[] {
    return this.#mint.mints;
  }

  /** The minted links by linkId. */
  get links(): ReadonlyMap<string, MintedLink> {
    return this.#mint.links;
  }

  get mintBehaviour(): MintBehaviour {
    return this.#mint.behaviour;
  }

  set mintBehaviour(behaviour: MintBehaviour) {
    this.#mint.behaviour = behaviour;
  }

  /** Accepted events in order of arrival, without duplicates. */
  get events(): readonly ReceivedEvent[] {
    return this.#receiver.events;
  }

  /** Every verified delivery in order of arrival: accepted, duplicate, or refused by a misbehaviour. */
  get deliveries(): readonly ReceivedDelivery[] {
    return this.#receiver.deliveries;
  }

  /** Verified deliveries whose answer has not ended yet. */
  get underWay(): ReadonlySet<ReceivedDelivery> {
    return this.#receiver.underWay;
  }

  /** Verified deliveries whose connection the service closed before our answer began: the service gave up or died. */
  get unanswered(): readonly ReceivedDelivery[] {
    return this.#receiver.unanswered;
  }

  /** Deliveries that could not be verified or parsed. */
  get rejected(): readonly RejectedDelivery[] {
    return this.#receiver.rejected;
  }

  /**
   * For long runs: drops the records of deliveries and events so far, and returns the ids of those events. They stay
   * applied, and duplicates are still recognized.
   */
  forgetDeliveries(): string[] {
    return this.#receiver.forget();
  }

  /**
   * The state of each loan, by sourceLoanNumber. It follows from the loan's events, and after a gap from the loan's
   * case.
   */
  get loans(): ReadonlyMap<string, LoanView> {
    return this.#receiver.loans;
  }

  get gaps(): readonly Gap[] {
    return this.#receiver.gaps;
  }

  get receiverBehaviour(): WebhookReceiver["behaviour"] {
    return this.#receiver.behaviour;
  }

  set receiverBehaviour(behaviour: ReceiverBehaviour | ((event: ReceivedEvent) => ReceiverBehaviour)) {
    this.#receiver.behaviour = behaviour;
  }

  /** The captured payments, with the service's answers to their confirmations. */
  get captures(): readonly Capture[] {
    return this.#desk.captures;
  }

  /**
   * Simulates a payment by the borrower: captures the money, confirms it to the service until the answer is final, and
   * resolves with that answer. With `confirm: false` it only captures, and resolves with the capture, for a later
   * `confirmCapture`.
   */
  pay(linkId: string, options?: PayOptions & { confirm?: true }): Promise<Answer>;
  pay(linkId: string, options: PayOptions & { confirm: false }): Promise<Capture>;
  async pay(linkId: string, options: PayOptions & { confirm?: boolean } = {}): Promise<Answer | Capture> {
    const capture = this.#desk.capture(linkId, options.amount, options.mode, options.paidAt);
    return options.confirm === false ? capture : await this.confirmCapture(capture);
  }

  /** Confirms a capture, even if it was confirmed before. */
  async confirmCapture(capture: Capture): Promise<Answer> {
    const answer = await this.#desk.confirm(capture);
    this.#log(
      `confirmed ${capture.reference} for ${capture.sourceLoanNumber}: HTTP ${answer.status}, ${capture.state}`,
    );
    this.#waiting.changed();
    return answer;
  }

  /** Compares the captures of a window with the booked payments, and confirms those that are not booked. */
  async reconcileDay(window: DayWindow): Promise<ReconciledDay> {
    const day = await this.#desk.reconcileDay(window);
    this.#log(`reconciled ${window.from} to ${window.to}: ${day.confirmed.length} confirmed, clean ${day.last.clean}`);
    this.#waiting.changed();
    return day;
  }

  /** Resolves with the events when the condition is true for them and all of them are applied to `loans`. */
  async waitForEvents(
    condition: (events: readonly ReceivedEvent[]) => boolean,
    timeoutMs = WAIT_LIMIT_MS,
  ): Promise<readonly ReceivedEvent[]> {
    await this.waitFor(() => condition(this.events), timeoutMs);
    await this.#receiver.settled();
    return this.events;
  }

  /** Resolves when the condition is true for the twin's records: mints, captures, loans, rejected … */
  waitFor(condition: () => boolean, timeoutMs = WAIT_LIMIT_MS): Promise<void> {
    return this.#waiting.until(condition, timeoutMs, () => this.#seen());
  }

  /** Resolves when every accepted event is applied and no confirmation is under way. */
  async settled(): Promise<void> {
    await Promise.all([this.#receiver.settled(), this.#desk.settled()]);
  }

  /** Stops the server immediately, with every connection, and stops confirming. */
  async close(): Promise<void> {
    this.#desk.close();
    this.disconnect();
    await new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
      this.#server.closeAllConnections();
    });
    await this.settled();
  }

  async #serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const chunks: Buffer[] = [];
      for await (const chunk of incoming) chunks.push(chunk as Buffer);
      const { method = "", url = "", headers } = incoming;
      this.#route({ method, path: url.split("?", 1)[0] ?? "", headers, rawBody: Buffer.concat(chunks) }, response);
    } catch (error) {
      this.#log(`${incoming.method} ${incoming.url} failed: ${String(error)}`);
      if (!response.headersSent) response.writeHead(500).end();
    }
  }

  #route(request: ReceivedRequest, response: ServerResponse): void {
    const { method, path } = request;
    const linkId = /^\/pay\/([^/]+)$/.exec(path)?.[1];
    if (linkId !== undefined) return this.#servePayPage(linkId, request, response);
    if (method === "POST" && path === MINT_PATH) return this.#serveMint(request, response);
    if (method === "POST" && path === CALLBACK_PATH) return this.#serveCallback(request, response);
    this.strayRequests.push(`${method} ${path}`);
    response.writeHead(404).end();
  }

  #servePayPage(linkId: string, request: ReceivedRequest, response: ServerResponse): void {
    const capture = servePayPage(request, response, this.links.get(linkId), this.#desk);
    if (capture === null) return;
    this.#log(`captured ${capture.amount} on ${linkId} as ${capture.reference}`);
    this.confirmCapture(capture).catch((error: unknown) => this.#log(String(error)));
  }

  #serveMint(request: ReceivedRequest, response: ServerResponse): void {
    const { outcome, rejection, linkId } = this.#mint.handle(request, response);
    this.#log(`mint: ${outcome} ${rejection ?? linkId ?? ""}`);
    this.#waiting.changed();
  }

  #serveCallback(request: ReceivedRequest, response: ServerResponse): void {
    this.#receiver.handle(request, response);
    this.#log(
      `webhook: ${String(request.headers["x-service-event"])} ${String(request.headers["x-service-delivery"])}`,
    );
  }

  async #fetchCase(loan: string): Promise<WebhookEvent | null> {
    try {
      const { status, body } = await this.getCase<WebhookEvent>(loan);
      return status === 200 ? body : null;
    } catch (error) {
      this.#log(`cannot read the case of ${loan} after a gap: ${String(error)}`);
      return null;
    }
  }

  #seen(): string {
    const events = this.events.map(({ kind, sourceLoanNumber, sequence }) => `${kind} ${sourceLoanNumber}#${sequence}`);
    const rejected = this.rejected.map(({ reason }) => reason);
    return [
      `Events: ${events.join(", ") || "none"}.`,
      `Rejected: ${rejected.join(", ") || "none"}.`,
      `Deliveries: ${this.deliveries.length}, mints: ${this.mints.length}, captures: ${this.captures.length}.`,
    ].join(" ");
  }
}

/**
 * `amount` is in major units; default: the amount that is still to be paid on the link. `mode` defaults to `upi`.
 * `paidAt` is the time of the capture, for a payment that is confirmed late; default: now.
 */
export interface PayOptions {
  amount?: number;
  mode?: string;
  paidAt?: Date;
}
