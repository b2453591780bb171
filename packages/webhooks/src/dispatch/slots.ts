/** The attempts that one process may have under way at a time, over all endpoints. */
export interface Slots {
  /** Calls `granted` once a slot is free, at once if one is. Whoever asks is served in turn. */
  ask(granted: () => void): void;
  /** Gives a granted slot back. */
  release(): void;
}

/** Shares `count` slots. An endpoint asks for one slot after the other, so no backlog can claim them all beforehand. */
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
