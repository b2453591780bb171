/**
 * How long after a refresh a repeat of the same request gets the same tokens again. The time is long because a phone
 * may have no network for most of a day. The long time adds little risk, because a stolen copy of an unused refresh
 * token is valid for 30 days anyway.
 */
export const REFRESH_REPEAT_MS = 24 * 60 * 60 * 1000;

/** The facts about a refresh token that decide the answer. */
export interface RefreshState {
  readonly refreshExpiresAt: Date;
  /** When the token was exchanged for new tokens, and with which idempotency key. */
  readonly usedAt: Date | null;
  readonly usedKey: string | null;
  /** Whether the session has ended or its field partner is suspended. */
  readonly isOver: boolean;
  /** Whether the idempotency key of the request was already used with another token of the session. */
  readonly isKeyTaken: boolean;
}

export type RefreshVerdict = "rotate" | "repeat" | "over" | "reused" | "conflict";

/**
 * Decides what to do with a refresh token. If a used token comes again with the same idempotency key within
 * `REFRESH_REPEAT_MS`, the request is a repeat: its first answer was probably lost. If the token comes with another
 * key, or later, two clients may have the token, and the service cannot know which client is the owner.
 */
export function judgeRefresh(state: RefreshState, idempotencyKey: string, now: Date): RefreshVerdict {
  if (state.isOver || now >= state.refreshExpiresAt) return "over";
  if (!state.usedAt) return state.isKeyTaken ? "conflict" : "rotate";
  const isRecent = now.getTime() - state.usedAt.getTime() < REFRESH_REPEAT_MS;
  return isRecent && state.usedKey === idempotencyKey ? "repeat" : "reused";
}
