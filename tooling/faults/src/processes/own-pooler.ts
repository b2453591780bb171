import { type Pooler, startPooler } from "@collections/postgres";
import { freePort } from "./free-port.ts";

/** A pgbouncer in front of a run's PostgreSQL. It keeps its address when it is killed and started again. */
export class OwnPooler {
  readonly #serverUrl: string;
  readonly #port: number;
  #pooler: Pooler | undefined;

  private constructor(serverUrl: string, port: number) {
    this.#serverUrl = serverUrl;
    this.#port = port;
  }

  /** Starts a pooler in front of the server, or of the relay, at this URL. */
  static async start(serverUrl: string): Promise<OwnPooler> {
    const pooler = new OwnPooler(serverUrl, await freePort());
    await pooler.startAgain();
    return pooler;
  }

  /** The URL of the database through the pooler, also while the pooler is away. */
  get url(): string {
    const url = new URL(this.#serverUrl);
    url.host = `127.0.0.1:${this.#port}`;
    url.searchParams.set("pgbouncer", "true");
    return url.href;
  }

  /** Kills the pooler with SIGKILL; resolves when it has ended. */
  async kill(): Promise<void> {
    const pooler = this.#pooler;
    this.#pooler = undefined;
    await pooler?.stop();
  }

  /** Starts a new pooler at the same address; resolves when it has a connection to the server. */
  async startAgain(): Promise<void> {
    this.#pooler = await startPooler(this.#serverUrl, { port: this.#port });
  }

  /** Stops the process, without closing a connection, until `thaw`. */
  freeze(): void {
    process.kill(this.#pooler!.pid, "SIGSTOP");
  }

  thaw(): void {
    process.kill(this.#pooler!.pid, "SIGCONT");
  }
}
