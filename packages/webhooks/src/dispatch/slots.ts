/** Limits the attempts that one process may have under way at a time, over all endpoints. */
export interface Slots {
  /** Calls `granted` at once if a slot is free, otherwise when a slot becomes free. Slots go to callers in call order. */
  ask(granted: () => void): void;
  /** Gives back a granted slot. */
  release(): void;
}

/** Shares `count` slots. A lane asks for one slot at a time, so one endpoint's backlog cannot reserve all slots. */
export function createSlots(count: number): Slots {
  const asking: (() => void)[] = [];
  let free = count;

  function ask(granted: () => void): void {
    if (free === 0) {
      asking.push(granted);
      return;
    }
    free -= 1;
    granted();
  }

  function release(): void {
    const next = asking.shift();
    if (next) next();
    else free += 1;
  }

  return { ask, release };
}
