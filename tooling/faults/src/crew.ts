import { freePort } from "./free-port.ts";
import { oneOf, type Random } from "./seeded-random.ts";
import { type ServiceProcess, type Settings, startService } from "./service-process.ts";

/** Several processes of one role; each has a port of its own, which its successors take over. */
export class Crew {
  readonly #settings: Settings;
  readonly #logFile: string;
  readonly #places: { port: number; settings: Settings; process: ServiceProcess | undefined }[] = [];

  constructor(settings: Settings, logFile: string) {
    this.#settings = settings;
    this.#logFile = logFile;
  }

  /** Starts one more for each of these, which add to its settings. */
  async start(extras: readonly Settings[]): Promise<void> {
    for (const extra of extras) {
      const port = await freePort();
      this.#places.push({ port, settings: extra, process: undefined });
    }
    await this.revive();
  }

  /** Where they listen, the dead ones too. */
  get urls(): string[] {
    return this.#places.map(({ port }) => `http://127.0.0.1:${port}`);
  }

  /** Of those that live. */
  get pids(): number[] {
    const living = this.#places.filter(({ process }) => process?.hasEnded() === false);
    return living.map(({ process }) => process!.pid);
  }

  get size(): number {
    return this.#places.length;
  }

  /** Kills one with SIGKILL; `revive` starts its successor. */
  async killOne(random: Random): Promise<void> {
    await kill(oneOf(random, this.#places));
  }

  /** Kills all with SIGKILL at the same moment. */
  async killAll(): Promise<void> {
    await Promise.all(this.#places.map(kill));
  }

  /** Starts a successor of each that has ended; resolves when all are ready. Returns how many there were. */
  async revive(): Promise<number> {
    const vacant = this.#places.filter(({ process }) => process === undefined || process.hasEnded());
    await Promise.all(
      vacant.map(async (place) => {
        const settings = { ...this.#settings, ...place.settings, PORT: String(place.port) };
        place.process = await startService(settings, this.#logFile);
      }),
    );
    return vacant.length;
  }

  /** Those that nobody killed and that have ended all the same. */
  get lost(): number {
    return this.#places.filter(({ process }) => process?.hasEnded() === true).length;
  }
}

async function kill(place: { process: ServiceProcess | undefined }): Promise<void> {
  place.process?.send("SIGKILL");
  await place.process?.ended;
}
