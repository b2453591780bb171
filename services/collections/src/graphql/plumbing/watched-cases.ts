import type { Database } from "@collections/entities";
import { CASE_CHANNEL, type CaseChange, readCaseChange } from "@collections/flows";

/** Passes the changes of cases to the subscriptions of the field partners who have the cases. */
export interface WatchedCases {
  /**
   * Calls `onChange` for each change of a case of the field partner, and `onGap` if changes may have been missed. Call
   * the returned function to stop.
   */
  on(fieldPartnerId: string, onChange: (change: CaseChange) => void, onGap: () => void): () => void;
}

interface Listener {
  readonly onChange: (change: CaseChange) => void;
  readonly onGap: () => void;
}

/**
 * Listens once for all subscriptions of a process, and finds the subscriptions of a change in a map. The time for one
 * change therefore does not grow with the number of field partners who watch.
 */
export function createWatchedCases({ signals }: Pick<Database, "signals">): WatchedCases {
  const listeners = new Map<string, Set<Listener>>();
  let stopListening: (() => void) | undefined;

  function notify(payload: string): void {
    const change = readCaseChange(payload);
    for (const { onChange } of listeners.get(change.fieldPartnerId) ?? []) onChange(change);
  }

  function reportGap(): void {
    for (const own of listeners.values()) for (const { onGap } of own) onGap();
  }

  return {
    on(fieldPartnerId, onChange, onGap) {
      const listener = { onChange, onGap };
      const own = listeners.get(fieldPartnerId) ?? new Set();
      listeners.set(fieldPartnerId, own.add(listener));
      stopListening ??= signals.on(CASE_CHANNEL, notify, reportGap);
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
