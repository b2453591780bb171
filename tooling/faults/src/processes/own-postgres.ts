import { type Postgres, startPostgres } from "@collections/postgres";
import { Client, Pool } from "pg";
import { setTimeout as pause } from "node:timers/promises";
import { until } from "../deadline.ts";

/** SIGQUIT shuts the server down immediately, so that its next start replays the log. SIGINT shuts it down in order. */
export type ShutdownSignal = "SIGQUIT" | "SIGINT";

export interface OwnPostgresOptions {
  readonly dataDir: string;
  readonly settings?: Readonly<Record<string, string>>;
  /** Variables that are added to the server's environment. */
  readonly environment?: Readonly<Record<string, string>>;
}

const GONE_WITHIN_MS = 60_000;

/** A PostgreSQL for one run, with durable commits, that can be broken in every way. */
export class OwnPostgres {
  readonly dataDir: string;
  readonly #options: OwnPostgresOptions;
  readonly #started: Postgres[] = [];
  #pool: Pool | undefined;

  private constructor(options: OwnPostgresOptions) {
    this.#options = options;
    this.dataDir = options.dataDir;
  }

  static async start(options: OwnPostgresOptions): Promise<OwnPostgres> {
    const postgres = new OwnPostgres(options);
    await postgres.#start();
    return postgres;
  }

  /** The server's URL. It stays the same after a restart. */
  get url(): string {
    return this.#current.url;
  }

  get pid(): number {
    return this.#current.pid;
  }

  /** The connections that the faults and the checks use for their own queries. */
  get pool(): Pool {
    this.#pool ??= new Pool({ connectionString: this.url, max: 3, connectionTimeoutMillis: 20_000 }).on(
      "error",
      () => {},
    );
    return this.#pool;
  }

  /** Opens a connection that the caller must end. */
  async connect(url: string = this.url): Promise<Client> {
    const client = new Client({ connectionString: url, connectionTimeoutMillis: 10_000 });
    client.on("error", () => {});
    await client.connect();
    return client;
  }

  isUp(): boolean {
    try {
      return process.kill(this.pid, 0);
    } catch {
      return false;
    }
  }

  /** Brings the server down; resolves when its process has ended. */
  async bringDown(signal: ShutdownSignal): Promise<void> {
    if (this.isUp()) process.kill(this.pid, signal);
    await until("PostgreSQL is down", GONE_WITHIN_MS, () => !this.isUp());
  }

  /** Starts the server again, also if it went down by itself. */
  async startAgain(): Promise<void> {
    const { url } = this;
    await this.#start();
    if (this.url !== url) throw new Error(`PostgreSQL restarted at ${this.url} instead of ${url}.`);
  }

  async restart(signal: ShutdownSignal, awayMs: number): Promise<void> {
    await this.bringDown(signal);
    await pause(awayMs);
    await this.startAgain();
  }

  async stop(): Promise<void> {
    const pool = this.#pool;
    this.#pool = undefined;
    await pool?.end();
    // Stop every start, not only the last: each start has its own guard process, and any guard may still use the server.
    await Promise.all(this.#started.map(({ stop }) => stop()));
  }

  get #current(): Postgres {
    return this.#started.at(-1)!;
  }

  async #start(): Promise<void> {
    const { dataDir, settings = {}, environment = {} } = this.#options;
    // Pass the variables to PostgreSQL through the environment of this process. `startPostgres` copies that environment
    // as soon as it is called, so change it only for this call: no other code runs meanwhile.
    const before = { ...process.env };
    Object.assign(process.env, environment);
    const starting = startPostgres({ dataDir, durable: true, temporary: true, settings });
    for (const name of Object.keys(environment)) restore(name, before[name]);
    this.#started.push(await starting);
  }
}

function restore(name: string, value: string | undefined): void {
  if (value === undefined) delete process.env[name];
  else process.env[name] = value;
}
