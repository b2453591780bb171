import { setTimeout as wait } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** For tests: the bytes of heap and buffers that this process uses after garbage collection. */
export async function heldBytes(): Promise<number> {
  setFlagsFromString("--expose-gc");
  const collect: unknown = runInNewContext("gc");
  if (typeof collect !== "function") throw new Error("this runtime does not let a test collect garbage");
  collect();
  // Wait, because Node frees buffers in the background.
  await wait(20);
  collect();
  const { arrayBuffers, heapUsed } = process.memoryUsage();
  return arrayBuffers + heapUsed;
}
