import { Pool, type PoolClient } from "pg";
import type { PooledSqlClient, SqlPool } from "../src/index.ts";

/** A process that has died: nothing it meant to do afterwards happens. */
export class KilledError extends Error {
  override readonly name = "KilledError";
}

/** Counts statements down; at 0 the process dies, just before the statement reaches the server or just after. */
export interface Fuse {
  statementsLeft: number;
  readonly dies: "before" | "after";
}

/** The connections of one process, which can be made to die at any statement. */
export class MortalPool implements SqlPool<MortalClient> {
  readonly #pool: Pool;
  fuse: Fuse | undefined;

  constructor(url: string) {
    this.#pool = new Pool({ connectionString: url, max: 5 });
    // The server's word about a connection that we have cut ourselves.
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
    // No goodbye: the server notices that the socket is gone.
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
