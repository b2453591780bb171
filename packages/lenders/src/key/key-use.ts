const RECORD_EVERY_MS = 10_000;

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
  /**
   * Returns the uses to pass to `recordKeyUse` now: the latest of each API key, at most once in ten seconds. So the stored
   * last use is at most ten seconds late.
   */
  take(now?: Date): KeyUse[];
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
  const takenAt = new Map<string, number>();
  return {
    note(use) {
      noted.set(use.keyId, use);
    },
    take(now = new Date()) {
      const nowMs = now.getTime();
      const uses = [...noted.values()].filter(
        ({ keyId }) => nowMs - (takenAt.get(keyId) ?? -Infinity) >= RECORD_EVERY_MS,
      );
      for (const { keyId } of uses) {
        noted.delete(keyId);
        takenAt.set(keyId, nowMs);
      }
      return uses;
    },
  };
}
