/** Values by key, none older than a given age. */
export interface FreshCache<Value> {
  get(key: string): Promise<Value | undefined>;
}

interface Entry<Value> {
  readonly value: Value | undefined;
  readonly askedAtMs: number;
}

interface Load<Value> {
  readonly answer: Promise<Value | undefined>;
  readonly askedAtMs: number;
}

/**
 * Remembers what `load` answered. The rule: an answer counts for `maxAgeMs` from the moment its question was *asked*, so
 * what was committed before that moment is seen by every later `get` at the latest `maxAgeMs` after the commit.
 * One question per key is on its way at a time, and callers share it; a key in use is asked again at half its age, before
 * anybody has to wait. A failed question is not remembered. Keys with no value are kept too, the last `maxAbsent`.
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

  function ask(key: string, nowMs: number): Promise<Value | undefined> {
    const underWay = loads.get(key);
    if (underWay && nowMs - underWay.askedAtMs < maxAgeMs) return underWay.answer;
    const started = { answer: answerTo(key, nowMs), askedAtMs: nowMs };
    loads.set(key, started);
    const end = () => loads.get(key) === started && loads.delete(key);
    started.answer.then(end, end);
    return started.answer;
  }

  async function answerTo(key: string, askedAtMs: number): Promise<Value | undefined> {
    const value = await load(key);
    const newer = entryOf(key);
    if (!newer || newer.askedAtMs < askedAtMs) keep(key, { value, askedAtMs });
    return value;
  }

  function entryOf(key: string): Entry<Value> | undefined {
    return present.get(key) ?? absent.get(key);
  }

  /** The shelves are apart, so that a flood of unknown keys pushes out no known one. */
  function keep(key: string, entry: Entry<Value>): void {
    present.delete(key);
    absent.delete(key);
    const [shelf, max] = entry.value === undefined ? [absent, maxAbsent] : [present, maxPresent];
    shelf.set(key, entry);
    if (shelf.size > max) shelf.delete(shelf.keys().next().value!);
  }

  return {
    async get(key) {
      const nowMs = clockMs();
      const entry = entryOf(key);
      const ageMs = entry ? nowMs - entry.askedAtMs : Infinity;
      if (!entry || ageMs >= maxAgeMs) return ask(key, nowMs);
      // A failed early question disturbs nobody: the entry still counts, and who finds it too old asks again.
      if (entry.value !== undefined && ageMs >= maxAgeMs / 2) ask(key, nowMs).catch(() => {});
      return entry.value;
    },
  };
}
