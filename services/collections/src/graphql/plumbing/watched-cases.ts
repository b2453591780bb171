import type { Database } from "@collections/database";
import { CASE_CHANNEL, type CaseChange, readCaseChange } from "@collections/flows";

/** Passes the changes of cases to the subscriptions of the field partners who have the cases. */
export interface WatchedCases {
  /** Calls `onChange` for each change of a case of the field partner. Call the returned function to stop. */
  on(fieldPartnerId: string, onChange: (change: CaseChange) => void): () => void;
}

/**
 * Listens once for all subscriptions of a process, and finds the subscriptions of a change in a map. The time for one
 * change therefore does not grow with the number of field partners who watch.
 */
export function createWatchedCases({ signals }: Pick<Database, "signals">): WatchedCases {
  const listeners = new Map<string, Set<(change: CaseChange) => void>>();
  let stopListening: (() => void) | undefined;

  function notify(payload: string): void {
    const change = readCaseChange(payload);
    for (const listener of listeners.get(change.fieldPartnerId) ?? []) listener(change);
  }

  return {
    on(fieldPartnerId, onChange) {
      // Create a new function for each call: two subscriptions may pass the same function, and a Set would store it
      // only once.
      const listener = (change: CaseChange) => onChange(change);
      const own = listeners.get(fieldPartnerId) ?? new Set();
      listeners.set(fieldPartnerId, own.add(listener));
      stopListening ??= signals.on(CASE_CHANNEL, notify);
      return () => {
        own.delete(listener);
        if (own.size === 0 && listeners.get(fieldPartnerId) === own) listeners.delete(fieldPartnerId);
        if (listeners.size > 0) return;
        stopListening?.();
        stopListening = undefined;
      };
    },
  };
}
