import { Pool, type PoolClient } from "pg";
import type { PooledSqlClient, SqlPool } from "../src/index.ts";

/** Simulates the death of the process: none of its later actions happen. */
export class KilledError extends Error {
  override readonly name = "KilledError";
}

/** Counts queries down. At 0 the process dies, just before or just after the query reaches the server. */
export interface Fuse {
  statementsLeft: number;
  readonly dies: "before" | "after";
}

/** The connections of one simulated process, which can be made to die at any query. */
export class MortalPool implements SqlPool<MortalClient> {
  readonly #pool: Pool;
  fuse: Fuse | undefined;

  constructor(url: string) {
    this.#pool = new Pool({ connectionString: url, max: 5 });
    // Ignores the server's message about a connection that this test has closed.
    this.#pool.on("error", () => {});
  }

  async connect(): Promise<MortalClient> {
    const client = await this.#pool.connect();
    return new MortalClient(client, () => this.#burn());
  }

  async end(): Promise<void> {
    await this.#pool.end();
  }

  #burn(): Fuse["dies"] | undefined {
    if (this.fuse === undefined || this.fuse.statementsLeft-- > 0) return undefined;
    const { dies } = this.fuse;
    this.fuse = undefined;
    return dies;
  }
}

class MortalClient implements PooledSqlClient {
  readonly #client: PoolClient;
  readonly #burn: () => Fuse["dies"] | undefined;

  constructor(client: PoolClient, burn: () => Fuse["dies"] | undefined) {
    this.#client = client;
    this.#burn = burn;
  }

  async query(text: string, values?: unknown[]): Promise<{ rows: Record<string, unknown>[] }> {
    const dies = this.#burn();
    if (dies !== "before") {
      const result = await this.#client.query<Record<string, unknown>>(text, values);
      if (dies === undefined) return result;
    }
    // Destroys the socket without a Terminate message: the server notices only that the socket is closed.
    (this.#client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy();
    throw new KilledError(`Killed ${dies} ${text}`);
  }

  on(event: "error", listener: () => void): void {
    this.#client.on(event, listener);
  }

  removeListener(event: "error", listener: () => void): void {
    this.#client.removeListener(event, listener);
  }

  release(destroy?: boolean): void {
    this.#client.release(destroy);
  }
}
