import { Counter, Gauge, type Registry } from "prom-client";

/** What is told of the anchors of the ledger. */
export interface LedgerMetrics {
  onAnchor(outcome: "written" | "failed"): void;
  /** Has the age of the oldest block without an anchor read from now on, in seconds; undefined when it cannot be had. */
  watch(readUnanchoredSeconds: () => Promise<number | undefined>): void;
}

/** Registers the metrics of the ledger. The age stays unset until `watch` is called. */
export function createLedgerMetrics(registry: Registry): LedgerMetrics {
  const registers = [registry];
  const anchors = new Counter({
    name: "collections_ledger_anchors_total",
    help: "Anchors of the hash chains that this process wrote, or failed to write.",
    labelNames: ["outcome"],
    registers,
  });
  let read: () => Promise<number | undefined> = () => Promise.resolve(undefined);
  const unanchored = new Gauge({
    name: "collections_ledger_unanchored_seconds",
    help: "Age of the oldest block of a hash chain that no anchor covers.",
    registers,
    async collect() {
      const seconds = await read();
      // An old value would pass for the present.
      if (seconds === undefined) unanchored.remove();
      else unanchored.set(seconds);
    },
  });
  return {
    onAnchor: (outcome) => anchors.inc({ outcome }),
    watch(readUnanchoredSeconds) {
      read = readUnanchoredSeconds;
    },
  };
}
