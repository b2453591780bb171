import type { EntityManager } from "@collections/database";
import { type AttemptErrorCode, type AttemptResult, type Courier, makeAttempt } from "../endpoint/attempt.ts";
import type { Ladder } from "./ladder.ts";
import { lease, type LeasedDelivery, release } from "./lease.ts";
import { LeaseAhead } from "./lease-ahead.ts";
import { type Outcome, outcomeOf } from "./outcome.ts";
import { recordResults } from "./record-results.ts";
import { recoverEndpoint } from "../endpoint/recover.ts";
import { ResultWriter } from "./result-writer.ts";
import type { QuietLanes } from "./quiet-lanes.ts";
import { isRepeat, Ready } from "./ready.ts";
import type { Slots } from "./slots.ts";
import type { SuspensionRule } from "../endpoint/suspension.ts";
import { Window } from "./window.ts";

/** What is known of an attempt once it has ended: one line of the log, one count of the metrics. */
export interface AttemptFacts {
  readonly lenderId: string;
  readonly eventId: string;
  readonly kind: string;
  readonly loan: string;
  readonly sequence: bigint;
  /** Number of the attempt, from 1. */
  readonly attempt: number;
  /** What its delivery is now. */
  readonly state: "retrying" | "delivered" | "parked";
  readonly status: number | null;
  readonly errorCode: AttemptErrorCode | null;
  readonly ownFault: boolean;
  readonly replay: boolean;
  readonly durationMs: number;
  /** From the commit of the event to the start of the attempt. */
  readonly ageMs: number;
}

/** Where the dispatcher writes its log; pino's shape. */
export interface Log {
  debug(facts: object, message: string): void;
  warn(facts: object, message: string): void;
  error(facts: object, message: string): void;
}

export interface LaneOptions {
  readonly lenderId: string;
  readonly em: EntityManager;
  readonly quietLanes: QuietLanes;
  readonly courier: Courier;
  readonly slots: Slots;
  readonly ladder: Ladder;
  readonly suspension: SuspensionRule;
  readonly random: () => number;
  /** Attempts under way to this endpoint at a time, once it has shown that it can take them. */
  readonly maxInFlight: number;
  readonly log: Log;
  readonly onAttempt: (facts: AttemptFacts) => void;
  /** Aborted when the process cannot wait any longer for what is in flight. */
  readonly giveUp: AbortSignal;
}

/** A lane with no more than that at a time shares statements with others. */
const FEW = 8;

/**
 * One endpoint's deliveries in this process. It leases ahead, keeps its slots busy, and writes results in batches.
 * A slot is free once the answer is there; the loan is free once the result is committed, because until then its head
 * stays leased. A lane waits for no other, except for slots when all of them are taken; those with little to do share
 * statements, which wait for no lock.
 */
export class Lane {
  readonly #options: LaneOptions;
  readonly #writer: ResultWriter<Outcome>;
  readonly #window: Window;
  readonly #running = new Set<Promise<void>>();
  readonly #ready = new Ready();
  readonly #ahead = new LeaseAhead();
  #runningRepeats = 0;
  /** Enough of them may mean a suspension: nothing begins until that is known. */
  #unwrittenFailures = 0;
  /** Whether the last look brought retries and replays and nothing else. */
  #broughtOnlyRepeats = false;
  /** Whether repeats were due for which there was no room. */
  #passedOverRepeats = false;
  /** Leased by us and not yet written or given back. */
  #held = 0;
  /** Whether there may be something to lease that no look has seen. */
  #isHinted = false;
  /** Whether there was a hint since the last results left for the database. */
  #isHintedSince = false;
  /** Whether the last look passed all loans and brought few: then this lane has little to do. */
  #isQuiet = true;
  /** The looks go round the loans; one goes on behind this loan, or begins: "". */
  #afterLoan = "";
  /** Whether there were hints when a look had gone past the first loans: they may be about those. */
  #beginsAgain = false;
  #isAsking = false;
  #isStopped = false;
  #leasing: Promise<void> | undefined;

  constructor(options: LaneOptions) {
    this.#options = options;
    this.#window = new Window(options.maxInFlight);
    this.#writer = new ResultWriter<Outcome>({
      write: (outcomes) => this.#record(outcomes),
      // Then the slots stay busy, and the loans are many, while results gather.
      isBusy: () => !this.#isStopped && this.#ahead.isFar && this.#ready.firstAttempts >= this.#window.limit,
      onError: (error, { length }) =>
        options.log.error({ error, lenderId: options.lenderId, results: length }, "webhook results not written"),
      onDone: (outcomes) => {
        this.#held -= outcomes.length;
        this.#unwrittenFailures -= outcomes.filter(isCharged).length;
        this.#refill();
        this.#pump();
      },
      giveUp: options.giveUp,
    });
  }

  /** Attempts under way now. */
  get inFlight(): number {
    return this.#running.size;
  }

  /** Something may be due: looks at the rows, now or as soon as there is room. */
  wake(): void {
    this.#isHinted = true;
    this.#isHintedSince = true;
    this.#refill();
  }

  /** Takes nothing new, gives back what has not begun, and resolves when the rest has ended and is written. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#leasing;
    await this.#giveBack(this.#ready.takeAll());
    await Promise.all(this.#running);
    await this.#writer.flush();
  }

  #refill(): void {
    if (this.#isStopped || this.#leasing || !(this.#isHinted || this.#afterLoan !== "")) return;
    const { limit } = this.#window;
    const room = this.#ahead.room({
      slots: limit,
      held: this.#held - this.#repeats,
      ready: this.#ready.firstAttempts,
    });
    if (room === 0) return;
    this.#beginsAgain ||= this.#isHinted && this.#afterLoan !== "";
    this.#isHinted = false;
    const roomForRepeats = Math.max(Math.ceil(limit / 2) - this.#repeats, 1);
    this.#leasing = this.#lease(this.#broughtOnlyRepeats ? Math.min(room, roomForRepeats) : room).finally(() => {
      this.#leasing = undefined;
      this.#lookForRepeats();
      this.#pump();
      this.#refill();
    });
  }

  async #lease(count: number): Promise<void> {
    const { em, quietLanes, courier, lenderId, log } = this.#options;
    const firstAttemptsOnly = !this.#hasRoomForRepeats();
    try {
      const from = { afterLoan: this.#afterLoan, firstAttemptsOnly };
      const request = { lenderId, count, ...from, timeoutMs: courier.timeoutMs };
      const {
        deliveries: leased,
        lookedUpTo,
        recoveredAt,
      } = await (this.#isQuiet ? quietLanes.lease(request) : lease(em, request));
      this.#isQuiet = lookedUpTo === null && leased.length <= FEW;
      if (leased.length > 0) this.#window.seeRecovery(recoveredAt);
      this.#held += leased.length;
      const tooMany = this.#ready.add(leased, Math.ceil(this.#window.limit / 2) - this.#repeats);
      this.#passedOverRepeats ||= firstAttemptsOnly || tooMany.length > 0;
      this.#broughtOnlyRepeats = leased.length > 0 && leased.every(isRepeat);
      this.#goOn(lookedUpTo);
      await this.#giveBack(tooMany);
    } catch (error) {
      // The next hint or poll begins anew.
      this.#afterLoan = "";
      this.#beginsAgain = false;
      this.#isQuiet = false;
      log.error({ error, lenderId }, "webhook deliveries not leased");
    }
  }

  #goOn(lookedUpTo: string | null): void {
    this.#afterLoan = lookedUpTo ?? "";
    if (lookedUpTo === null && this.#beginsAgain) {
      this.#isHinted = true;
      this.#beginsAgain = false;
    }
    this.#ahead.learn({ hasMore: lookedUpTo !== null || this.#isHinted }, performance.now());
  }

  /** Leased and not ended: retries and replays. */
  get #repeats(): number {
    return this.#ready.repeats + this.#runningRepeats;
  }

  /** Half of the slots are kept for first attempts. */
  #hasRoomForRepeats(): boolean {
    return this.#repeats < this.#window.limit / 2;
  }

  /** Asks for one slot at a time, so that lanes take turns when slots are short. */
  #pump(): void {
    if (this.#isStopped || this.#isAsking || this.#running.size >= this.#window.limit) return;
    if (this.#unwrittenFailures >= this.#options.suspension.suspendAfter) return;
    if (this.#ready.firstAttempts === 0 && (this.#ready.repeats === 0 || !this.#isRepeatAllowed())) return;
    this.#isAsking = true;
    this.#options.slots.ask(() => {
      this.#isAsking = false;
      this.#start();
      this.#pump();
    });
  }

  #start(): void {
    this.#giveBackStale();
    const next = this.#ready.next(this.#isRepeatAllowed());
    if (next === undefined) {
      this.#options.slots.release();
      return;
    }
    const repeats = isRepeat(next) ? 1 : 0;
    this.#runningRepeats += repeats;
    const running = this.#attempt(next).finally(() => {
      this.#running.delete(running);
      this.#runningRepeats -= repeats;
      this.#lookForRepeats();
      this.#options.slots.release();
      this.#pump();
      this.#refill();
    });
    this.#running.add(running);
  }

  #isRepeatAllowed(): boolean {
    return this.#runningRepeats < this.#window.limit / 2;
  }

  #lookForRepeats(): void {
    if (!this.#passedOverRepeats || !this.#hasRoomForRepeats()) return;
    this.#passedOverRepeats = false;
    this.#isHinted = true;
  }

  /** What has waited for a slot so long that its lease might end before its attempt, oldest first. */
  #giveBackStale(): void {
    const stale = this.#ready.takeStale(performance.now());
    if (stale.length > 0) void this.#giveBack(stale).then(() => this.wake());
  }

  async #attempt(delivery: LeasedDelivery): Promise<void> {
    const { courier, lenderId, log, giveUp, ladder, random } = this.#options;
    const number = delivery.attempts + 1;
    let result: AttemptResult;
    try {
      const { url, deliveryId: eventId, kind, body, replay } = delivery;
      result = await makeAttempt(courier, { lenderId, url, eventId, kind, number, body, replay, signal: giveUp });
    } catch (error) {
      // It cannot be signed now. The lease is left to run out, which is the pause before the next try.
      log.error({ error, lenderId, eventId: delivery.deliveryId }, "webhook attempt not made");
      this.#held -= 1;
      return;
    }
    if (result.outcome === "abandoned") {
      await this.#giveBack([delivery]);
      return;
    }
    this.#window.learn(result);
    const outcome = outcomeOf(delivery, result, ladder, random);
    if (isCharged(outcome)) this.#unwrittenFailures += 1;
    this.#writer.add(outcome);
  }

  async #record(outcomes: readonly Outcome[]): Promise<void> {
    const { em, quietLanes, lenderId, log, onAttempt, suspension } = this.#options;
    this.#isHintedSince = false;
    const isQuiet = outcomes.length <= FEW && outcomes.every(({ state }) => state === "delivered");
    const { written, verdict, isSuspended, isFollowed } = await (isQuiet
      ? quietLanes.record({ lenderId, outcomes })
      : recordResults(em, lenderId, outcomes, suspension));
    // A hint that came meanwhile may be of an event that the statement did not see, behind one that no look could have. What
    // is refused may have been written by a statement whose answer was lost.
    const isRefused = written.size < outcomes.length;
    if (isFollowed || isRefused || this.#isHintedSince) this.#isHinted = true;
    if (verdict === "suspend") log.warn({ lenderId }, "webhook endpoint suspended");
    if (verdict === "recover") void this.#recover(outcomes.at(-1)!.delivery.url);
    if (isSuspended) await this.#giveBack(this.#ready.takeAll());
    for (const outcome of outcomes) {
      const facts = factsOf(lenderId, outcome);
      if (!written.has(outcome.delivery.deliveryId)) {
        log.warn(facts, "webhook result refused: another dispatcher took the delivery over, or it was written before");
        continue;
      }
      if (outcome.state === "delivered") log.debug(facts, "webhook attempt");
      else log.warn(facts, "webhook attempt");
      onAttempt(facts);
    }
  }

  /** An attempt that was under way has arrived after all. Should this fail, the next probe does it. */
  async #recover(url: string): Promise<void> {
    const { em, lenderId, log } = this.#options;
    try {
      await recoverEndpoint(em, lenderId, { url });
    } catch (error) {
      log.error({ error, lenderId }, "webhook endpoint not recovered; its next probe will");
    }
  }

  async #giveBack(leased: readonly LeasedDelivery[]): Promise<void> {
    const { em, lenderId, log } = this.#options;
    this.#held -= leased.length;
    try {
      await release(em, lenderId, leased);
    } catch (error) {
      log.error({ error, lenderId }, "webhook leases not given back; they run out by themselves");
    }
  }
}

/** A failure that counts against the endpoint. */
function isCharged({ state, result }: Outcome): boolean {
  return state !== "delivered" && !result.ownFault;
}

function factsOf(lenderId: string, { delivery, result, state }: Outcome): AttemptFacts {
  return {
    lenderId,
    eventId: delivery.deliveryId,
    kind: delivery.kind,
    loan: delivery.loan,
    sequence: delivery.sequence,
    attempt: delivery.attempts + 1,
    state,
    status: result.answer?.status ?? null,
    errorCode: result.error?.code ?? null,
    ownFault: result.ownFault,
    replay: delivery.replay,
    durationMs: result.durationMs,
    ageMs: result.startedAt.getTime() - delivery.createdAt.getTime(),
  };
}
