import { closeSync, openSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { makeShim } from "./shim.ts";
import type { Settings } from "./service-process.ts";

/** The clock of one process, which may differ from the other clocks. */
export interface Clock {
  /** The environment of the process that the clock belongs to. */
  readonly settings: Settings;
  /** Sets how far the clock is ahead from now on; behind if negative. */
  set(offsetMs: number): void;
}

/** Makes clocks that are correct at first. */
export function makeClocks(count: number, folder: string): Clock[] {
  const library = makeShim("clock", folder);
  return Array.from({ length: count }, (_, index) => {
    const file = join(folder, `clock-${index}`);
    writeFileSync(file, bytesOf(0), { mode: 0o644 });
    return {
      settings: { LD_PRELOAD: library, FAULTS_CLOCK_FILE: file },
      set(offsetMs) {
        // Write into the existing file and do not replace it, because the process has mapped this file into its memory.
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
