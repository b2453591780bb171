import { rmSync } from "node:fs";
import { ownFolder } from "../processes/run-folder.ts";
import type { Settings } from "../processes/service-process.ts";

/**
 * The settings of every process of the service in a run of faults: outbound calls to this machine are allowed, rate
 * limits are off, and retries come soon.
 */
export const STAGE_SETTINGS: Settings = {
  MASTER_KEY: "0123456789abcdef".repeat(4),
  OUTBOUND_ALLOW: "127.0.0.1:*",
  RATE_LIMITS: "off",
  LOG_LEVEL: "warn",
  WEBHOOK_TIMEOUT: "2s",
  WEBHOOK_LADDER: "0s,300ms,600ms,1s,1s,2s",
  WEBHOOK_SUSPEND_MIN_DURATION: "2s",
  WEBHOOK_PROBE_INTERVAL: "500ms",
  MINT_TIMEOUT: "2s",
};

/** Registers a cleanup for the end of the stage. */
export type OnClose = (closing: () => unknown) => void;

/**
 * Sets up the processes for a fault, in a folder of their own. `close` runs the cleanups that `setUp` has registered by
 * `onClose`, last first, and removes the folder. If `setUp` fails, the same happens immediately.
 */
export async function openInFolder<Stage>(
  setUp: (folder: string, onClose: OnClose) => Promise<Stage>,
): Promise<Stage & { close(): Promise<void> }> {
  const folder = ownFolder();
  const closings: (() => unknown)[] = [() => rmSync(folder, { recursive: true, force: true })];
  const close = async (): Promise<void> => {
    for (const closing of closings.splice(0).reverse()) await closing();
  };
  try {
    return { ...(await setUp(folder, (closing) => closings.push(closing))), close };
  } catch (error) {
    await close();
    throw error;
  }
}
