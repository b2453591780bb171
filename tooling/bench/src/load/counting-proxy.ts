import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { type BoundStatement, MessageReader, StatementReader } from "./wire.ts";

/** A transaction as it was seen on the wire. */
export interface CountedTransaction {
  readonly texts: readonly string[];
  /** The number of times that the client waited for an answer before it continued, including the answer to COMMIT. */
  readonly roundTrips: number;
}

/** A proxy between the service and PostgreSQL that counts transactions and round trips. */
export interface CountingProxy {
  readonly url: string;
  /** Returns the last execution, on any connection, of the prepared statement with this name. */
  latest(name: string): BoundStatement | undefined;
  /**
   * Runs `act`, and returns the statements that were executed while `act` ran, in order. Unprepared statements have
   * no name and no values.
   */
  during(act: () => Promise<void>): Promise<readonly BoundStatement[]>;
  /** The committed transactions so far, in the order of the commits. */
  readonly transactions: readonly CountedTransaction[];
  /** Holds back everything that clients send, until `release` is called. */
  hold(): void;
  release(): void;
  /** The number of connections with held-back bytes. */
  heldConnections(): number;
  close(): Promise<void>;
}

/**
 * The delay that the proxy adds to each answer of PostgreSQL. It shows whether a client waits for an answer: a
 * statement that the client sends during the delay was sent without waiting.
 */
const ANSWER_DELAY_MS = 5;
const READY_FOR_QUERY = "Z";

/** Starts the proxy in front of a database. */
export async function startCountingProxy(databaseUrl: string): Promise<CountingProxy> {
  const target = new URL(databaseUrl);
  const transactions: CountedTransaction[] = [];
  const executed = new Map<string, BoundStatement>();
  const watchers = new Set<BoundStatement[]>();
  const passages = new Set<Passage>();
  let isHolding = false;
  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname);
    const passage = new Passage(client, upstream, {
      onTransaction: (transaction) => transactions.push(transaction),
      onExecute(statement) {
        executed.set(statement.name, statement);
        for (const seen of watchers) seen.push(statement);
      },
    });
    passages.add(passage);
    if (isHolding) passage.hold();
    client.once("close", () => passages.delete(passage));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = new URL(databaseUrl);
  url.port = String((server.address() as AddressInfo).port);
  return {
    url: url.href,
    transactions,
    latest: (name) => executed.get(name),
    async during(act) {
      const seen: BoundStatement[] = [];
      watchers.add(seen);
      await act();
      watchers.delete(seen);
      return seen;
    },
    hold() {
      isHolding = true;
      for (const passage of passages) passage.hold();
    },
    release() {
      isHolding = false;
      for (const passage of passages) passage.release();
    },
    heldConnections: () => [...passages].filter((passage) => passage.hasHeld()).length,
    async close() {
      for (const passage of passages) passage.close();
      server.close();
      await once(server, "close");
    },
  };
}

interface PassageEvents {
  onTransaction(transaction: CountedTransaction): void;
  onExecute(statement: BoundStatement): void;
}

/** One connection through the proxy. */
class Passage {
  readonly #client: Socket;
  readonly #upstream: Socket;
  readonly #events: PassageEvents;
  readonly #statements = new StatementReader();
  readonly #answers = new MessageReader("server");
  #held: Buffer[] | undefined;
  /** Starts at 1, because the server's greeting ends with ReadyForQuery too. */
  #unanswered = 1;
  #isWaitedFor = false;
  #open: { texts: string[]; roundTrips: number } | undefined;

  constructor(client: Socket, upstream: Socket, events: PassageEvents) {
    this.#client = client.setNoDelay();
    this.#upstream = upstream.setNoDelay();
    this.#events = events;
    client.on("data", (chunk: Buffer) => this.#forward(chunk));
    upstream.on("data", (chunk: Buffer) => setTimeout(() => this.#answer(chunk), ANSWER_DELAY_MS));
    for (const socket of [client, upstream]) socket.on("error", () => {}).on("close", () => this.close());
  }

  hold(): void {
    this.#held ??= [];
  }

  release(): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const chunk of held) this.#upstream.write(chunk);
  }

  hasHeld(): boolean {
    return this.#held !== undefined && this.#held.length > 0;
  }

  close(): void {
    this.#client.destroy();
    this.#upstream.destroy();
  }

  #forward(chunk: Buffer): void {
    for (const sent of this.#statements.read(chunk)) {
      if (sent.kind === "sync") this.#unanswered += 1;
      else this.#count(sent.text);
      if (sent.kind === "statement") this.#events.onExecute(sent.bound ?? { name: "", text: sent.text, values: [] });
    }
    if (this.#held) this.#held.push(chunk);
    else this.#upstream.write(chunk);
  }

  #count(text: string): void {
    if (/^begin\b/i.test(text)) {
      this.#open = { texts: [], roundTrips: 0 };
      this.#isWaitedFor = false;
    }
    if (!this.#open) return;
    this.#open.texts.push(text);
    if (!this.#isWaitedFor) this.#open.roundTrips += 1;
    this.#isWaitedFor = true;
    if (!/^commit\b/i.test(text)) return;
    this.#events.onTransaction(this.#open);
    this.#open = undefined;
  }

  #answer(chunk: Buffer): void {
    this.#unanswered -= this.#answers.read(chunk).filter(({ type }) => type === READY_FOR_QUERY).length;
    if (this.#unanswered === 0) this.#isWaitedFor = false;
    if (!this.#client.destroyed) this.#client.write(chunk);
  }
}
