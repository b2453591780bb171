import type { EntityManager } from "@collections/database";
import { type AttemptResult, makeAttempt, type WebhookSender } from "../endpoint/attempt.ts";
import { knownRecipient, type Recipient, recipientOf } from "../endpoint/recipient.ts";
import { recoverEndpoint } from "../endpoint/recover.ts";
import { pacedFrom, type SuspensionRule } from "../endpoint/suspension.ts";
import { type AttemptFacts, attemptFacts } from "./attempt-facts.ts";
import { ConcurrencyLimit } from "./concurrency-limit.ts";
import type { Ladder } from "./ladder.ts";
import { endTurn, type Lease, lease, type LeasedDelivery, leaseInTurn, type LeaseRequest, release } from "./lease.ts";
import { LeaseAhead } from "./lease-ahead.ts";
import type { Log } from "./log.ts";
import { NotMadeLog } from "./not-made-log.ts";
import { isCharged, type Outcome, outcomeOf } from "./outcome.ts";
import { isSmall, type QuietLanes } from "./quiet-lanes.ts";
import { Ready } from "./ready.ts";
import { recordResults } from "./record-results.ts";
import { RepeatQuota } from "./repeat-quota.ts";
import { ResultWriter } from "./result-writer.ts";
import { ScanCursor } from "./scan-cursor.ts";
import type { Slots } from "./slots.ts";

export interface LaneOptions {
  /** The address of the endpoint. */
  readonly lenderId: string;
  readonly em: EntityManager;
  readonly quietLanes: QuietLanes;
  readonly sender: WebhookSender;
  /** How much longer than the timeout of an attempt a lease lasts. */
  readonly leaseBeyondTimeoutMs?: number | undefined;
  readonly slots: Slots;
  readonly ladder: Ladder;
  readonly blockedAttempts?: number | undefined;
  readonly suspension: SuspensionRule;
  readonly random: () => number;
  /** The highest value of the concurrency limit. The limit starts lower, and rises with the endpoint's answers. */
  readonly maxInFlight: number;
  readonly log: Log;
  readonly onAttempt: (facts: AttemptFacts) => void;
  /** Aborted when the process stops waiting for attempts and results that are under way. */
  readonly abort: AbortSignal;
}

/**
 * One endpoint's deliveries in this process. A lane leases more deliveries than it has slots, keeps its slots busy, and
 * writes results in batches. An attempt frees its slot as soon as the answer arrives. The next event of the same loan
 * is sent only after the result is committed: until then, the delivery stays leased. A lane waits for another lane only
 * if no slot is free. Lanes with little to do share queries, which skip locked rows.
 */
export class Lane {
  readonly #options: LaneOptions;
  readonly #writer: ResultWriter<Outcome>;
  readonly #concurrency: ConcurrencyLimit;
  readonly #ready = new Ready();
  readonly #repeats: RepeatQuota;
  readonly #ahead = new LeaseAhead();
  readonly #cursor = new ScanCursor();
  readonly #running = new Set<Promise<void>>();
  readonly #notMade: NotMadeLog;
  /** The number of leased deliveries whose result is not written and whose lease is not given back. */
  #held = 0;
  /**
   * The number of failures that are not written yet. They may suspend or pace the endpoint, so no further attempt starts
   * while there are too many of them.
   */
  #unwrittenFailures = 0;
  /** The tenant and the name of the endpoint. Undefined until the first attempt reads them. */
  #recipient: Recipient | undefined;
  /** Wakes the lane when the wait of a paced endpoint ends. */
  #turnTimer: NodeJS.Timeout | undefined;
  #isAsking = false;
  #isStopped = false;
  #leasing: Promise<void> | undefined;

  constructor(options: LaneOptions) {
    this.#options = options;
    this.#notMade = new NotMadeLog(options.log);
    this.#concurrency = new ConcurrencyLimit(options.maxInFlight);
    this.#repeats = new RepeatQuota(this.#concurrency, this.#ready);
    this.#writer = new ResultWriter<Outcome>({
      write: (outcomes) => this.#record(outcomes),
      // When every slot has work queued, waiting to batch results costs nothing.
      isBusy: () => !this.#isStopped && this.#ahead.isFar && this.#ready.firstAttempts >= this.#concurrency.limit,
      onError: (error, { length }) =>
        options.log.error({ error, ...this.#names, results: length }, "webhook results not written"),
      onDone: (outcomes) => {
        this.#held -= outcomes.length;
        this.#unwrittenFailures -= outcomes.filter(isCharged).length;
        this.#leaseMore();
        this.#startNext();
      },
      abort: options.abort,
    });
  }

  /** The tenant and the name of the endpoint for the log, or the address if they have not been read yet. */
  get #names(): object {
    const { lenderId } = this.#options;
    return this.#recipient ?? knownRecipient(lenderId) ?? { lenderId };
  }

  /** How many attempts are under way. */
  get inFlight(): number {
    return this.#running.size;
  }

  /**
   * Leases due deliveries, now or as soon as there is room. Call it when a signal or a poll says that deliveries may be
   * due.
   */
  wake(): void {
    this.#cursor.signal();
    this.#leaseMore();
  }

  /** Starts no further attempt, and gives back leased deliveries. Resolves when all results are written. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#turnTimer);
    await this.#leasing;
    await this.#giveBack(this.#ready.takeAll());
    await Promise.all(this.#running);
    await this.#writer.flush();
  }

  #leaseMore(): void {
    if (this.#isStopped || this.#leasing || !this.#cursor.isDue) return;
    const room = this.#ahead.room({
      slots: this.#concurrency.limit,
      held: this.#held - this.#repeats.leased,
      ready: this.#ready.firstAttempts,
    });
    if (room === 0) return;
    this.#leasing = this.#lease(this.#cursor.begin(), this.#repeats.countToLease(room)).finally(() => {
      this.#leasing = undefined;
      this.#scanForSkipped();
      this.#startNext();
      this.#leaseMore();
    });
  }

  async #lease(afterLoan: string, count: number): Promise<void> {
    const { em, quietLanes, sender, leaseBeyondTimeoutMs, lenderId, suspension, log } = this.#options;
    const firstAttemptsOnly = !this.#repeats.isOpen;
    try {
      const request = {
        lenderId,
        count,
        afterLoan,
        firstAttemptsOnly,
        timeoutMs: sender.timeoutMs,
        beyondTimeoutMs: leaseBeyondTimeoutMs,
        pacedFrom: pacedFrom(suspension),
      };
      const free = await (this.#cursor.isSmall ? quietLanes.lease(request) : lease(em, request));
      const found = free.isOpen ? free : await this.#leaseInTurn(request);
      const { deliveries: leased, scannedUpTo, recoveredAt } = found;
      if (leased.length > 0) this.#concurrency.seeRecovery(recoveredAt);
      this.#held += leased.length;
      const excess = this.#ready.add(leased, this.#repeats.room);
      this.#repeats.noteLease({ leased, firstAttemptsOnly, givenBack: excess.length });
      this.#cursor.advance(scannedUpTo, leased.length);
      this.#ahead.learn({ hasMore: this.#cursor.isDue }, performance.now());
      await this.#giveBack(excess);
    } catch (error) {
      this.#cursor.reset();
      log.error({ error, ...this.#names }, "webhook deliveries not leased");
    }
  }

  /** Leases one delivery of an endpoint whose attempts are paced, or wakes this lane when its wait has ended. */
  async #leaseInTurn(request: LeaseRequest): Promise<Lease> {
    const { waitMs, ...found } = await leaseInTurn(this.#options.em, request);
    if (waitMs > 0) this.#wakeAfter(waitMs);
    return found;
  }

  #wakeAfter(waitMs: number): void {
    clearTimeout(this.#turnTimer);
    if (!this.#isStopped) this.#turnTimer = setTimeout(() => this.wake(), waitMs);
  }

  /** Asks for one slot at a time, so that lanes take turns when slots are scarce. */
  #startNext(): void {
    if (this.#isStopped || this.#isAsking || this.#running.size >= this.#concurrency.limit) return;
    const { suspension } = this.#options;
    if (this.#unwrittenFailures >= Math.min(suspension.suspendAfter, pacedFrom(suspension))) return;
    if (this.#ready.firstAttempts === 0 && (this.#ready.repeats === 0 || !this.#repeats.mayStart)) return;
    this.#isAsking = true;
    this.#options.slots.ask(() => {
      this.#isAsking = false;
      this.#start();
      this.#startNext();
    });
  }

  #start(): void {
    this.#giveBackStale();
    const next = this.#ready.next(this.#repeats.mayStart);
    if (next === undefined) {
      this.#options.slots.release();
      return;
    }
    this.#repeats.start(next);
    const running = this.#attempt(next).finally(() => {
      this.#running.delete(running);
      this.#repeats.end(next);
      this.#scanForSkipped();
      this.#options.slots.release();
      this.#startNext();
      this.#leaseMore();
    });
    this.#running.add(running);
  }

  #scanForSkipped(): void {
    if (this.#repeats.takeSkipped()) this.#cursor.hint();
  }

  /** Gives back deliveries that have waited for a slot so long that their lease might end before their attempt. */
  #giveBackStale(): void {
    const stale = this.#ready.takeStale(performance.now());
    if (stale.length > 0) void this.#giveBack(stale).then(() => this.wake());
  }

  async #attempt(delivery: LeasedDelivery): Promise<void> {
    const { em, sender, lenderId, abort, ladder, random, blockedAttempts } = this.#options;
    const number = delivery.attempts + 1;
    let result: AttemptResult;
    try {
      const recipient = (this.#recipient ??= await recipientOf(em, lenderId));
      const { url, deliveryId: eventId, kind, body, replay } = delivery;
      result = await makeAttempt(sender, {
        ...recipient,
        url,
        eventId,
        kind,
        number,
        body,
        replay,
        signal: abort,
      });
    } catch (error) {
      // The request cannot be signed now. The delivery stays leased, so the next try is after the end of the lease.
      this.#notMade.add({ error, ...this.#names, eventId: delivery.deliveryId }, performance.now());
      this.#held -= 1;
      return;
    }
    if (result.outcome === "abandoned") {
      await this.#giveBack([delivery]);
      return;
    }
    this.#concurrency.learn(result);
    const outcome = outcomeOf(delivery, result, ladder, random, blockedAttempts);
    if (isCharged(outcome)) this.#unwrittenFailures += 1;
    this.#writer.add(outcome);
  }

  async #record(outcomes: readonly Outcome[]): Promise<void> {
    const { em, quietLanes, lenderId, log, suspension } = this.#options;
    const { signals } = this.#cursor;
    const isQuiet = isSmall(outcomes.length) && outcomes.every(({ state }) => state === "delivered");
    const { written, verdict, isSuspended, paceMs, isFollowed } = await (isQuiet
      ? quietLanes.record({ lenderId, outcomes })
      : recordResults(em, lenderId, outcomes, suspension));
    // Another scan is needed in three cases. First, a loan has a further event. Second, a result was refused: an
    // earlier query whose answer was lost may have written it, and may have found a further event. Third, a signal came
    // during the query: its event may be too new for the query to see, and no lease could return it while an earlier
    // event of its loan was leased.
    const isRefused = written.size < outcomes.length;
    // A paced attempt was the only one of a scan.
    const wasPaced = outcomes.some(({ delivery }) => delivery.isPaced);
    if (isFollowed || isRefused || wasPaced || this.#cursor.signals !== signals) this.#cursor.hint();
    if (verdict === "suspend") log.warn({ ...this.#names }, "webhook endpoint suspended");
    if (verdict === "recover") void this.#recover(outcomes.at(-1)!.delivery.url);
    if (isSuspended || paceMs !== undefined) await this.#giveBack(this.#ready.takeAll());
    if (paceMs !== undefined) this.#wakeAfter(paceMs);
    for (const outcome of outcomes) this.#report(outcome, written.has(outcome.delivery.deliveryId));
  }

  #report(outcome: Outcome, isWritten: boolean): void {
    const { log, onAttempt } = this.#options;
    const facts = attemptFacts(this.#recipient!, outcome);
    if (!isWritten) {
      log.warn(facts, "webhook result refused: another dispatcher has the delivery, or the result was written before");
      return;
    }
    if (outcome.state === "delivered") log.debug(facts, "webhook attempt");
    else log.warn(facts, "webhook attempt");
    onAttempt(facts);
  }

  /**
   * Ends the suspension, because the endpoint has answered 2xx to an attempt that began before the suspension. If this
   * call fails, the next probe that passes ends the suspension.
   */
  async #recover(url: string): Promise<void> {
    const { em, lenderId, log } = this.#options;
    try {
      await recoverEndpoint(em, lenderId, { url });
    } catch (error) {
      log.error({ error, ...this.#names }, "webhook endpoint not recovered; its next probe may recover it");
    }
  }

  async #giveBack(leased: readonly LeasedDelivery[]): Promise<void> {
    const { em, lenderId, log } = this.#options;
    this.#held -= leased.length;
    try {
      await release(em, lenderId, leased);
      if (leased.some(({ isPaced }) => isPaced)) await endTurn(em, lenderId);
    } catch (error) {
      log.error({ error, ...this.#names }, "webhook leases not given back; they expire by themselves");
    }
  }
}
