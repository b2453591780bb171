import { type ServiceProcess, type Settings, startProcess } from "./processes.ts";

/** Server processes on one database, some of them alive at any time. */
export interface MortalServers {
  /** The URL of one that is not known to be dead; waits when all are. */
  url(): Promise<string>;
  /** Kills one as nothing else does, and starts another without waiting for it. */
  kill(): Promise<void>;
  /** Resolves when everything that was started is up. */
  settled(): Promise<void>;
}

/** Starts `count` of them; they are killed after the test file. */
export async function startMortalServers(settings: Settings, count: number): Promise<MortalServers> {
  const start = () => startProcess({ ...settings, ROLE: "server" });
  const alive: ServiceProcess[] = await Promise.all(Array.from({ length: count }, start));
  const starting = new Set<Promise<unknown>>();
  let turn = 0;

  function replace(): void {
    const started = start().then((server) => {
      alive.push(server);
      starting.delete(started);
    });
    starting.add(started);
  }

  return {
    async url() {
      while (alive.length === 0) await Promise.race(starting);
      turn += 1;
      return alive[turn % alive.length]!.url;
    },
    async kill() {
      while (alive.length < 2 && starting.size > 0) await Promise.race(starting);
      const victim = alive.shift()!;
      victim.send("SIGKILL");
      await victim.ended;
      replace();
    },
    settled: async () => void (await Promise.all(starting)),
  };
}
