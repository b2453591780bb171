import { randomBytes } from "node:crypto";
import { toMinor, toWire } from "./amount.ts";
import type { Answer, Confirmation, LenderClient } from "./client.ts";
import { type DayWindow, reconcileDay, type ReconciledDay } from "./reconcile-day.ts";
import { confirmUntilAnswered, isBooked } from "./until-answered.ts";
import type { MintedLink } from "./mint-endpoint.ts";

/** A payment that the lender captured on a link. `amount` is in major units. */
export interface Capture extends Omit<Required<Confirmation>, "partOf"> {
  sourceLoanNumber: string;
  /** The confirmation's bytes: made once, and sent in every attempt. */
  body: string;
  state: "unconfirmed" | "booked" | "refused";
  /** The number of calls until the final answer. */
  attempts: number;
  answer: Answer | null;
}

/** A payment names a link that this lender has not minted. */
export class UnknownLinkError extends Error {
  readonly code = "UNKNOWN_LINK";

  constructor(linkId: string) {
    super(`There is no link ${linkId}. twin.links has all minted links.`);
    this.name = "UnknownLinkError";
  }
}

/** There is nothing to pay: the link is paid already, or the amount is 0. */
export class NothingToPayError extends Error {
  readonly code = "NOTHING_TO_PAY";

  constructor(linkId: string) {
    super(`There is nothing to pay on ${linkId}: the link is paid. Give an amount above 0 to pay more.`);
    this.name = "NothingToPayError";
  }
}

/** Captures the borrower's money. Sends the confirmation to the service, and retries until the answer is final. */
export class PayDesk {
  readonly captures: Capture[] = [];
  readonly #links: ReadonlyMap<string, MintedLink>;
  readonly #client: LenderClient;
  readonly #now: () => number;
  readonly #confirmForMs: number;
  readonly #closing = new AbortController();
  readonly #confirming: Set<Promise<Answer>> = new Set();

  constructor(options: {
    links: ReadonlyMap<string, MintedLink>;
    client: LenderClient;
    now: () => number;
    confirmForMs: number;
  }) {
    this.#links = options.links;
    this.#client = options.client;
    this.#now = options.now;
    this.#confirmForMs = options.confirmForMs;
  }

  /**
   * Captures money on a link, without confirming it yet. A lender with a database stores the capture here, with the
   * bytes of its confirmation, and confirms it afterwards.
   *
   * @param amount in major units; default: the amount that is still to be paid on the link
   * @param paidAt when the money was captured; default: now, by the lender's clock
   */
  capture(linkId: string, amount?: number | string, mode = "upi", paidAt = new Date(this.#now())): Capture {
    const link = this.#links.get(linkId);
    if (link === undefined) throw new UnknownLinkError(linkId);
    const { currency, sourceLoanNumber } = link;
    const minor = amount === undefined ? link.amountMinor - link.capturedMinor : toMinor(amount, currency);
    if (minor <= 0n) throw new NothingToPayError(linkId);
    link.capturedMinor += minor;
    const confirmation: Omit<Required<Confirmation>, "partOf"> = {
      amount: toWire(minor, currency),
      reference: `pay_${randomBytes(9).toString("hex")}`,
      paidAt: paidAt.toISOString(),
      mode,
      linkId,
    };
    const body = JSON.stringify(confirmation);
    const capture: Capture = {
      ...confirmation,
      sourceLoanNumber,
      body,
      state: "unconfirmed",
      attempts: 0,
      answer: null,
    };
    this.captures.push(capture);
    return capture;
  }

  /**
   * Sends the confirmation of a capture to the service, and retries until the answer is final. Confirming a capture
   * twice, even at the same time, books it once.
   */
  confirm(capture: Capture): Promise<Answer> {
    const confirming = this.#confirm(capture).finally(() => this.#confirming.delete(confirming));
    this.#confirming.add(confirming);
    return confirming;
  }

  /** Reconciles the captures of a window. The captures that it confirms are booked afterwards. */
  async reconcileDay(window: DayWindow): Promise<ReconciledDay> {
    const patience = { giveUpAfterMs: this.#confirmForMs, signal: this.#closing.signal };
    const day = await reconcileDay(this.#client, this.captures, window, patience);
    for (const { payment, answer } of day.confirmed) {
      const capture = this.captures.find((one) => one === payment);
      if (capture) Object.assign(capture, { state: "booked", answer });
    }
    return day;
  }

  /** Resolves when no confirmation is under way. */
  async settled(): Promise<void> {
    while (this.#confirming.size > 0) await Promise.allSettled(this.#confirming);
  }

  close(): void {
    this.#closing.abort();
  }

  async #confirm(capture: Capture): Promise<Answer> {
    const { answer, attempts } = await confirmUntilAnswered(this.#client, capture.sourceLoanNumber, capture.body, {
      giveUpAfterMs: this.#confirmForMs,
      signal: this.#closing.signal,
    });
    capture.attempts += attempts;
    capture.answer = answer;
    capture.state = isBooked(answer) ? "booked" : "refused";
    return answer;
  }
}
