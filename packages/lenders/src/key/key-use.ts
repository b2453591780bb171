const RECORD_EVERY_MS = 60_000;

/** A request that a key has signed. */
export interface KeyUse {
  readonly lenderId: string;
  readonly keyId: string;
  readonly at: Date;
}

/** Gathers which keys were used, so that the request does not write. */
export interface KeyUses {
  /** Call it once a request's signature has held. */
  note(use: KeyUse): void;
  /** What is worth a `recordKeyUse` now: each key at most once a minute. */
  take(): KeyUse[];
}

/**
 * Gathers key uses in memory for as long as the process lives; a use that is lost with it is noted again at the next.
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
