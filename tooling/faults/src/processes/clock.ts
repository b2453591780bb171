import { closeSync, openSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { makeShim } from "./shim.ts";
import type { Settings } from "./service-process.ts";

/** The clock of one process, as it may differ from that of the others. */
export interface Clock {
  /** What the process has to be started with. */
  readonly settings: Settings;
  /** How far it is ahead from now on; behind when below 0. */
  set(offsetMs: number): void;
}

/** Makes clocks that go right at first. */
export function makeClocks(count: number, folder: string): Clock[] {
  const library = makeShim("clock", folder);
  return Array.from({ length: count }, (_, index) => {
    const file = join(folder, `clock-${index}`);
    writeFileSync(file, bytesOf(0), { mode: 0o644 });
    return {
      settings: { LD_PRELOAD: library, FAULTS_CLOCK_FILE: file },
      set(offsetMs) {
        // In place: the process has the file mapped.
        const open = openSync(file, "r+");
        writeSync(open, bytesOf(offsetMs), 0, 8, 0);
        closeSync(open);
      },
    };
  });
}

function bytesOf(offsetMs: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64LE(BigInt(offsetMs));
  return bytes;
}
