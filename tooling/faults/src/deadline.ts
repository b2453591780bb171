import { setTimeout as pause } from "node:timers/promises";

const LOOK_EVERY_MS = 20;

/** An expected condition did not become true in time. */
export class DeadlineError extends Error {
  readonly code = "DEADLINE";

  constructor(what: string, withinMs: number) {
    super(`${what}: not within ${Math.round(withinMs / 1_000)} s.`);
    this.name = "DeadlineError";
  }
}

/** Polls until the condition is true; `what` names the condition in the DeadlineError. */
export async function until(
  what: string,
  withinMs: number,
  condition: () => boolean | Promise<boolean>,
  everyMs: number = LOOK_EVERY_MS,
): Promise<void> {
  const deadline = performance.now() + withinMs;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new DeadlineError(what, withinMs);
    await pause(everyMs);
  }
}
