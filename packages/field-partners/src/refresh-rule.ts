/**
 * How long the same request gets the same tokens again. A phone may be without a signal for most of a day; and a copy of
 * an unused token would have counted for a month anyway.
 */
export const REFRESH_REPEAT_MS = 24 * 60 * 60 * 1000;

/** What the answer to a refresh token depends on. */
export interface RefreshState {
  readonly refreshExpiresAt: Date;
  /** When it gave new tokens, and under which idempotency key. */
  readonly usedAt: Date | null;
  readonly usedKey: string | null;
  /** The session has ended, or its field partner is suspended. */
  readonly isOver: boolean;
  /** The key gave new tokens for another token of the session. */
  readonly isKeyTaken: boolean;
}

export type RefreshVerdict = "rotate" | "repeat" | "over" | "reused" | "conflict";

/**
 * What a refresh token is worth. A used one may be the repeat of a request whose answer was lost, by its idempotency key;
 * else somebody has a copy, and nobody can say who.
 */
export function judgeRefresh(state: RefreshState, idempotencyKey: string, now: Date): RefreshVerdict {
  if (state.isOver || now >= state.refreshExpiresAt) return "over";
  if (!state.usedAt) return state.isKeyTaken ? "conflict" : "rotate";
  const isRecent = now.getTime() - state.usedAt.getTime() < REFRESH_REPEAT_MS;
  return isRecent && state.usedKey === idempotencyKey ? "repeat" : "reused";
}
