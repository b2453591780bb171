/** A read-through cache whose values never exceed a maximum age. */
export interface FreshCache<Value> {
  get(key: string): Promise<Value | undefined>;
}

interface Entry<Value> {
  readonly value: Value | undefined;
  readonly loadStartedAtMs: number;
}

interface Load<Value> {
  readonly value: Promise<Value | undefined>;
  readonly startedAtMs: number;
}

/**
 * Caches the values that `load` returns. A value is valid for `maxAgeMs` from the *start* of its load. So every `get` sees a
 * change at most `maxAgeMs` after its commit.
 *
 * There is one load per key at a time, and concurrent callers share it. A `get` of a value older than half of `maxAgeMs`
 * returns it and reloads it in the background, so that callers rarely wait. A failed load is not cached. The cache holds
 * up to `maxPresent` keys with a value and up to `maxAbsent` keys without one.
 */
export function createFreshCache<Value>(options: {
  load: (key: string) => Promise<Value | undefined>;
  maxAgeMs: number;
  maxPresent: number;
  maxAbsent: number;
  clockMs?: () => number;
}): FreshCache<Value> {
  const { load, maxAgeMs, maxPresent, maxAbsent, clockMs = () => performance.now() } = options;
  const present = new Map<string, Entry<Value>>();
  const absent = new Map<string, Entry<Value>>();
  const loads = new Map<string, Load<Value>>();

  function sharedLoad(key: string, nowMs: number): Promise<Value | undefined> {
    const running = loads.get(key);
    if (running && nowMs - running.startedAtMs < maxAgeMs) return running.value;
    const started = { value: loadAndStore(key, nowMs), startedAtMs: nowMs };
    loads.set(key, started);
    const end = () => loads.get(key) === started && loads.delete(key);
    started.value.then(end, end);
    return started.value;
  }

  async function loadAndStore(key: string, loadStartedAtMs: number): Promise<Value | undefined> {
    const value = await load(key);
    const cached = entryOf(key);
    if (!cached || cached.loadStartedAtMs < loadStartedAtMs) store(key, { value, loadStartedAtMs });
    return value;
  }

  function entryOf(key: string): Entry<Value> | undefined {
    return present.get(key) ?? absent.get(key);
  }

  /** Stores an entry. Keys without a value have their own map, so that many unknown keys do not evict known ones. */
  function store(key: string, entry: Entry<Value>): void {
    present.delete(key);
    absent.delete(key);
    const [entries, max] = entry.value === undefined ? [absent, maxAbsent] : [present, maxPresent];
    entries.set(key, entry);
    if (entries.size > max) entries.delete(entries.keys().next().value!);
  }

  return {
    async get(key) {
      const nowMs = clockMs();
      const entry = entryOf(key);
      const ageMs = entry ? nowMs - entry.loadStartedAtMs : Infinity;
      if (!entry || ageMs >= maxAgeMs) return sharedLoad(key, nowMs);
      // A failed background load is ignored: the entry stays valid until its maximum age, and the next `get` loads again.
      if (entry.value !== undefined && ageMs >= maxAgeMs / 2) sharedLoad(key, nowMs).catch(() => {});
      return entry.value;
    },
  };
}
