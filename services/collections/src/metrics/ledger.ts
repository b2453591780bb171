import { Counter, Gauge, type Registry } from "prom-client";

/** Metrics of the anchors of the ledger. */
export interface LedgerMetrics {
  onAnchor(outcome: "written" | "failed"): void;
  /**
   * Sets the function that reads the gauge: it returns the age in seconds of the oldest block without an anchor, or
   * undefined if the age cannot be read.
   */
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
      // While the age cannot be read, the gauge has no value, because an old value would look current.
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
