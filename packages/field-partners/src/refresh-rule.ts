import { REPEAT_GRACE_MS } from "./token-pair.ts";

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
 * What a refresh token is worth. A used one may be the repeat of a request whose answer was lost, by its idempotency key,
 * as long as new access tokens count; else somebody has a copy, and nobody can say who.
 */
export function judgeRefresh(state: RefreshState, idempotencyKey: string, now: Date): RefreshVerdict {
  if (state.isOver || now >= state.refreshExpiresAt) return "over";
  if (!state.usedAt) return state.isKeyTaken ? "conflict" : "rotate";
  const isRecent = now.getTime() - state.usedAt.getTime() < REPEAT_GRACE_MS;
  return isRecent && state.usedKey === idempotencyKey ? "repeat" : "reused";
}
