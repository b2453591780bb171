import { randomBytes } from "node:crypto";
import type { CaseService } from "./case-service.ts";
import { HEADERS, sign } from "@collections/signing";
import { loanEvent, type Event, type EventDetails } from "./event.ts";
import { exchange, type Outcome } from "./exchange.ts";
import { masker } from "./mask.ts";
import { secretsOf, type Key, type Settings } from "./settings.ts";
import { linkRequestFor, type LinkRequest, type LinkRequestDetails } from "./link-request.ts";

/** A request and its outcome. `what` describes the request. It is null for a request that a report does not list. */
export interface Exchange {
  readonly endpoint: "receiver" | "mint" | "reconcile";
  readonly what: string | null;
  readonly outcome: Outcome;
  /** Masks the secrets of the settings. Apply it to every text from the answer before a report shows the text. */
  readonly mask: (text: string) => string;
}

/** How a request differs from a valid one. */
export interface Deviation {
  readonly key?: Key;
  /** The signed timestamp in Unix milliseconds; default: now. */
  readonly signedAt?: number;
  /** The bytes to send instead of the signed ones. */
  readonly sentBody?: string;
  /** Headers that replace headers of the valid request; undefined removes a header. */
  readonly headers?: Readonly<Record<string, string | undefined>>;
}

export interface DeliveryDeviation extends Deviation {
  /** X-Service-Attempt, from 1. */
  readonly attempt?: number;
  readonly replay?: boolean;
}

/** Calls a lender's endpoints in place of the service. contract: Delivery, Mint-link request */
export class StandIn {
  /** All requests, in the order of their answers. */
  readonly log: Exchange[] = [];
  readonly settings: Settings;
  /** Whether the state URL has shown an event of this run. If so, checks can rely on it. */
  stateIsProven = false;
  /** Whether the state URL has failed in a check. If so, no further check uses it. */
  stateIsBroken = false;
  /** Masks every secret of the settings in a text from the lender. */
  readonly mask: (text: string) => string;
  readonly #run = randomBytes(4).toString("hex");
  #loans = 0;

  /** Answers receivers that read the case of a loan; null without --service-port. */
  readonly cases: CaseService | null;

  constructor(settings: Settings, cases: CaseService | null) {
    this.settings = settings;
    this.cases = cases;
    this.mask = masker(secretsOf(settings));
  }

  /** Returns a new loan number. */
  newLoan(prefix = "CONF"): string {
    this.#loans += 1;
    return `${prefix}-${this.#run}-${this.#loans}`;
  }

  /** Returns the loan of all link requests: the one from the settings, which the mint endpoint knows, or a default. */
  get mintLoan(): string {
    return this.settings.loan ?? "LN-1001";
  }

  /**
   * Makes the next event of a loan without sending it. From now on the loan's case has at least the event's sequence.
   */
  event(loan: string, sequence = 1, details: EventDetails = {}): Event {
    this.cases?.sequences.set(loan, Math.max(sequence, this.cases.sequences.get(loan) ?? 0));
    return loanEvent(this.settings.lenderCode, loan, sequence, details);
  }

  /** Makes a link request without sending it. */
  linkRequest(details: LinkRequestDetails = {}): LinkRequest {
    return linkRequestFor(this.mintLoan, this.settings.currency, details);
  }

  /** Posts an event to the receiver. */
  deliver(what: string | null, event: Event, deviation: DeliveryDeviation = {}): Promise<Exchange> {
    const { attempt = 1, replay = false } = deviation;
    const headers = {
      "User-Agent": "PartnerCollections-Webhooks/1.0",
      [HEADERS.event]: event.kind,
      [HEADERS.delivery]: event.eventId,
      [HEADERS.attempt]: String(attempt),
      ...(replay && { [HEADERS.replay]: "true" }),
    };
    return this.#post("receiver", what, event.body, headers, deviation);
  }

  /** Posts a link request to the mint endpoint. */
  mint(what: string, linkRequest: LinkRequest, deviation: Deviation = {}): Promise<Exchange> {
    const { mintAuthHeader } = this.settings;
    const headers = {
      ...(mintAuthHeader && { [mintAuthHeader.name]: mintAuthHeader.value }),
      "Idempotency-Key": linkRequest.key,
    };
    return this.#post("mint", what, linkRequest.body, headers, deviation);
  }

  /** Has the lender reconcile payments. The request is not one of the service. */
  reconcile(what: string, body: object): Promise<Exchange> {
    const { stateAuthHeader } = this.settings;
    const headers = { ...(stateAuthHeader && { [stateAuthHeader.name]: stateAuthHeader.value }) };
    return this.#post("reconcile", what, JSON.stringify(body), headers, {});
  }

  async #post(
    endpoint: Exchange["endpoint"],
    what: string | null,
    body: string,
    headers: Record<string, string>,
    { key = this.settings.key, signedAt = Date.now(), sentBody = body, headers: others = {} }: Deviation,
  ): Promise<Exchange> {
    const url = this.settings[endpoint];
    if (url === undefined) throw new TypeError(`The settings have no URL for the ${endpoint} endpoint.`);
    const timestamp = String(signedAt);
    const all = {
      "Content-Type": "application/json",
      Accept: "application/json",
      "Accept-Encoding": "identity",
      ...headers,
      [HEADERS.keyId]: key.keyId,
      [HEADERS.timestamp]: timestamp,
      [HEADERS.signature]: sign({ method: "POST", path: url.pathname, timestamp, body, secret: key.secret }),
      ...others,
    };
    const present = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
    const toSend = { method: "POST", url, headers: present as Record<string, string>, body: sentBody } as const;
    const outcome = await exchange(toSend, this.settings.timeoutMs);
    const made = { endpoint, what, outcome, mask: this.mask };
    this.log.push(made);
    return made;
  }
}
