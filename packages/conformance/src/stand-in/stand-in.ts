import { randomBytes } from "node:crypto";
import type { CaseService } from "./case-service.ts";
import { HEADERS, sign } from "@collections/signing";
import { loanEvent, type Event, type EventDetails } from "./event.ts";
import { exchange, type Outcome } from "./exchange.ts";
import { masker } from "./mask.ts";
import { secretsOf, type Key, type Settings } from "./settings.ts";
import { wishFor, type Wish, type WishDetails } from "./wish.ts";

/** A request that was made and what came of it. `what` names it in words; null for one that only serves another. */
export interface Exchange {
  readonly endpoint: "receiver" | "mint";
  readonly what: string | null;
  readonly outcome: Outcome;
  /** Replaces our secrets in what came back: whatever is shown of it passes here. */
  readonly mask: (text: string) => string;
}

/** How a request differs from a good one. */
export interface Deviation {
  readonly key?: Key;
  /** The timestamp that is signed, in Unix milliseconds; now unless told. */
  readonly signedAt?: number;
  /** Bytes to send in place of those that were signed. */
  readonly sentBody?: string;
  /** Headers to send instead; undefined leaves one out. */
  readonly headers?: Readonly<Record<string, string | undefined>>;
}

export interface DeliveryDeviation extends Deviation {
  /** X-Service-Attempt, from 1. */
  readonly attempt?: number;
  readonly replay?: boolean;
}

/** Calls a lender's endpoints as the service does. contract: Delivery, Mint-link request */
export class StandIn {
  /** All that was sent, in the order of the answers. */
  readonly log: Exchange[] = [];
  readonly settings: Settings;
  /** Whether the state URL has shown an event that we sent, so that it can be relied on. */
  stateIsProven = false;
  /** Whether it has failed since. */
  stateIsBroken = false;
  /** Replaces every secret of the settings in a text of the lender's. */
  readonly mask: (text: string) => string;
  readonly #run = randomBytes(4).toString("hex");
  #loans = 0;

  /** Answers receivers that read the case of a loan, or null when nobody does. */
  readonly cases: CaseService | null;

  constructor(settings: Settings, cases: CaseService | null) {
    this.settings = settings;
    this.cases = cases;
    this.mask = masker(secretsOf(settings));
  }

  /** A loan number that nobody has used. */
  newLoan(prefix = "CONF"): string {
    this.#loans += 1;
    return `${prefix}-${this.#run}-${this.#loans}`;
  }

  /** The loan that wishes are about: one that the mint endpoint knows, if it was given. */
  get mintLoan(): string {
    return this.settings.loan ?? "LN-1001";
  }

  /** Lets something happen to a loan: its event, not sent yet. The loan's case is that far from now on. */
  event(loan: string, sequence = 1, details: EventDetails = {}): Event {
    this.cases?.sequences.set(loan, Math.max(sequence, this.cases.sequences.get(loan) ?? 0));
    return loanEvent(this.settings.lenderCode, loan, sequence, details);
  }

  /** A wish for a link, not sent yet. */
  wish(details: WishDetails = {}): Wish {
    return wishFor(this.mintLoan, this.settings.currency, details);
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

  /** Posts a wish to the mint endpoint. */
  mint(what: string, wish: Wish, deviation: Deviation = {}): Promise<Exchange> {
    const { mintAuthHeader } = this.settings;
    const headers = {
      ...(mintAuthHeader && { [mintAuthHeader.name]: mintAuthHeader.value }),
      "Idempotency-Key": wish.key,
    };
    return this.#post("mint", what, wish.body, headers, deviation);
  }

  async #post(
    endpoint: Exchange["endpoint"],
    what: string | null,
    body: string,
    headers: Record<string, string>,
    { key = this.settings.key, signedAt = Date.now(), sentBody = body, headers: others = {} }: Deviation,
  ): Promise<Exchange> {
    const url = this.settings[endpoint];
    if (url === undefined) throw new TypeError(`There is no URL of a ${endpoint}.`);
    const timestamp = String(signedAt);
    const all = {
      "Content-Type": "application/json",
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
