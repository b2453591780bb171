import { rmSync } from "node:fs";
import { ownFolder } from "../processes/run-folder.ts";
import type { Settings } from "../processes/service-process.ts";

/**
 * The service's settings on every stage: outbound calls to this machine are allowed, rate limits are off, and retries
 * come soon.
 */
export const STAGE_SETTINGS: Settings = {
  MASTER_KEY: "0123456789abcdef".repeat(4),
  OUTBOUND_ALLOW: "127.0.0.1:*",
  RATE_LIMITS: "off",
  LOG_LEVEL: "warn",
  WEBHOOK_TIMEOUT: "2s",
  WEBHOOK_LADDER: "0s,300ms,600ms,1s,1s,2s",
  WEBHOOK_PROBE_INTERVAL: "500ms",
  MINT_TIMEOUT: "2s",
};

/** Registers a cleanup for the end of the stage. */
export type OnClose = (closing: () => unknown) => void;

/**
 * Sets up a stage in its own folder. `close` runs the cleanups of `onClose`, last first, and removes the folder. If the
 * setup fails, `close` is called here.
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
