import { freePort } from "./free-port.ts";
import { oneOf, type Random } from "../traffic/seeded-random.ts";
import {
  type Ending,
  type ServiceOptions,
  type ServiceProcess,
  type Settings,
  startService,
} from "./service-process.ts";

/** Several processes of one role. Each has its own port, which its successors reuse. */
export class Crew {
  readonly #settings: Settings;
  readonly #options: ServiceOptions;
  readonly #places: Place[] = [];

  constructor(settings: Settings, options: ServiceOptions = {}) {
    this.#settings = settings;
    this.#options = options;
  }

  /**
   * Starts as many processes as `extras` has entries. Each process gets the common settings and the settings of its
   * entry.
   */
  async start(extras: readonly Settings[]): Promise<void> {
    for (const extra of extras) {
      const port = await freePort();
      this.#places.push({ port, settings: extra, process: undefined, starting: undefined });
    }
    await this.revive();
  }

  /** The URLs of all processes, including dead ones. */
  get urls(): string[] {
    return this.#places.map(({ port }) => `http://127.0.0.1:${port}`);
  }

  /** The URLs of the running processes. */
  get livingUrls(): string[] {
    return this.#living.map(({ process }) => process!.url);
  }

  /** The process ids of the running processes. */
  get pids(): number[] {
    return this.#living.map(({ process }) => process!.pid);
  }

  get size(): number {
    return this.#places.length;
  }

  /** Kills a random process with SIGKILL; `revive` starts its successor. */
  async killOne(random: Random): Promise<void> {
    await kill(oneOf(random, this.#places));
  }

  /** Kills a random running process with SIGKILL. Starts its successor, but does not wait until it is ready. */
  async replaceOne(random: Random): Promise<void> {
    const place = oneOf(random, this.#living);
    const ending = await kill(place);
    if (ending?.signal !== "SIGKILL") throw new Error(`A process ended with ${ending?.code} before it was killed.`);
    place.starting = this.#startIn(place).finally(() => (place.starting = undefined));
    // Handle the rejection here, because an unhandled rejection would end this process. `untilRunning` throws if the
    // successor does not start.
    place.starting.catch(() => {});
  }

  /** Resolves when at least this many processes are running. */
  async untilRunning(least: number): Promise<void> {
    while (this.#living.length < least) {
      const starting = this.#places.flatMap((place) => place.starting ?? []);
      if (starting.length === 0)
        throw new Error(`${least} processes are needed, but only ${this.#living.length} are running.`);
      await Promise.race(starting);
    }
  }

  /** Kills all processes with SIGKILL at the same moment. */
  async killAll(): Promise<void> {
    await Promise.all(this.#places.map(kill));
  }

  /** Starts a successor for each process that has ended; resolves when all are ready. Returns their number. */
  async revive(): Promise<number> {
    const vacant = this.#places.filter(({ process }) => process === undefined || process.hasEnded());
    await Promise.all(vacant.map((place) => this.#startIn(place)));
    return vacant.length;
  }

  /** The number of processes that have ended and have no successor yet. */
  get lost(): number {
    return this.#places.filter(({ process }) => process?.hasEnded() === true).length;
  }

  get #living(): Place[] {
    return this.#places.filter(({ process }) => process?.hasEnded() === false);
  }

  async #startIn(place: Place): Promise<void> {
    const settings = { ...this.#settings, ...place.settings, PORT: String(place.port) };
    place.process = await startService(settings, this.#options);
  }
}

interface Place {
  readonly port: number;
  readonly settings: Settings;
  process: ServiceProcess | undefined;
  /**
   * The start of a successor by `replaceOne`; resolves when the successor is ready. Undefined if no such start is under
   * way.
   */
  starting: Promise<void> | undefined;
}

async function kill({ process }: Place): Promise<Ending | undefined> {
  process?.send("SIGKILL");
  return process?.ended;
}
