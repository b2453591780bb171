import { Gauge, type Registry } from "prom-client";

/** The values of a gauge's labels, and the value of the gauge for them. */
export type Sample = readonly [labels: Readonly<Record<string, string>>, value: number];

/** A gauge whose values are read during a scrape. */
export interface ReadGauge {
  readonly name: string;
  readonly help: string;
  readonly labels: readonly string[];
  /** Returns all values of the gauge, or undefined while they cannot be read. */
  readonly read: () => Promise<readonly Sample[] | undefined>;
}

/** Registers a gauge. It has no values while they cannot be read, because old values would look current. */
export function addReadGauge(registry: Registry, { name, help, labels, read }: ReadGauge): void {
  const gauge = new Gauge({
    name,
    help,
    labelNames: [...labels],
    registers: [registry],
    async collect() {
      const samples = await read();
      gauge.reset();
      for (const [of, value] of samples ?? []) gauge.set(of, value);
    },
  });
}
