import { setTimeout as pause } from "node:timers/promises";

const LOOK_EVERY_MS = 20;

/** What was waited for did not come in time. */
export class DeadlineError extends Error {
  readonly code = "DEADLINE";

  constructor(what: string, withinMs: number) {
    super(`${what}: not within ${Math.round(withinMs / 1_000)} s.`);
    this.name = "DeadlineError";
  }
}

/** Looks again and again until the condition holds; `what` names it in the DeadlineError. */
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
