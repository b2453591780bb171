import { Stored } from "./storage.ts";

/** How far the cases of the signed-in field partner are stored on this phone. */
export interface StoredDay {
  /** The `since` of the next request. */
  readonly cursor: string;
  /** During a sync that returns everything: the ids of the cases that it has returned so far. */
  readonly seen?: readonly string[];
  /** When the last sync ended, by this phone's clock; missing before the first sync has ended. */
  readonly completeAtMs?: number;
}

/** The stored day of the signed-in field partner. It is deleted at sign-out, together with the answers. */
export const storedDay = new Stored<StoredDay>("day");
