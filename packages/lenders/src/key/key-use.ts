const RECORD_EVERY_MS = 60_000;

/** The use of an API key by a request. */
export interface KeyUse {
  readonly lenderId: string;
  readonly keyId: string;
  readonly at: Date;
}

/** Collects the uses of API keys in memory, so that a request does not write to the database. */
export interface KeyUses {
  /** Notes a use. Call it after a request's signature was verified. */
  note(use: KeyUse): void;
  /** Returns the uses to pass to `recordKeyUse` now: each API key at most once a minute. */
  take(): KeyUse[];
}

/**
 * Creates a collector of the uses of API keys. If the process ends before a use is recorded, the key's next use is
 * recorded instead.
 *
 * @example
 * const keyUses = createKeyUses();
 * keyUses.note({ lenderId, keyId, at: now });
 * for (const use of keyUses.take()) await transaction(em, (tx) => recordKeyUse(tx, use));
 */
export function createKeyUses(): KeyUses {
  const noted = new Map<string, KeyUse>();
  const takenAt = new Map<string, Date>();
  return {
    note(use) {
      const last = takenAt.get(use.keyId);
      if (!last || use.at.getTime() - last.getTime() >= RECORD_EVERY_MS) noted.set(use.keyId, use);
    },
    take() {
      const uses = [...noted.values()];
      noted.clear();
      for (const use of uses) takenAt.set(use.keyId, use.at);
      return uses;
    },
  };
}
