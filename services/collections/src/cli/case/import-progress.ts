import { endProgress, showProgress, tell } from "../terminal/terminal.ts";

/** Shows the progress of an import on stderr. */
export interface ImportProgress {
  show(rowsDone: number): void;
  end(): void;
}

const TO_A_TERMINAL_EVERY_MS = 250;
const TO_A_LOG_EVERY_MS = 10_000;

/**
 * Shows rows, rate and time left. On a terminal this is one line that changes; otherwise it is a new line every 10
 * seconds.
 */
export function startProgress(rows: number, from: number): ImportProgress {
  const { isTTY } = process.stderr;
  const everyMs = isTTY ? TO_A_TERMINAL_EVERY_MS : TO_A_LOG_EVERY_MS;
  const startedAt = performance.now();
  let shownAt = startedAt;
  return {
    show(rowsDone) {
      const now = performance.now();
      if (now - shownAt < everyMs) return;
      shownAt = now;
      const text = progressText({ rows, rowsDone, from, seconds: (now - startedAt) / 1_000 });
      if (isTTY) showProgress(text);
      else tell(text);
    },
    end: endProgress,
  };
}

/** Returns a text such as "312,000 of 1,000,000 rows, 5,100 a second, 2 min 15 s left". */
export function progressText(at: { rows: number; rowsDone: number; from: number; seconds: number }): string {
  const perSecond = (at.rowsDone - at.from) / at.seconds;
  const secondsLeft = Math.ceil((at.rows - at.rowsDone) / perSecond);
  const left = secondsLeft < 60 ? `${secondsLeft} s` : `${Math.floor(secondsLeft / 60)} min ${secondsLeft % 60} s`;
  const [done, all, rate] = [at.rowsDone, at.rows, Math.round(perSecond)].map((count) => count.toLocaleString("en"));
  return `${done} of ${all} rows, ${rate} a second, ${left} left`;
}
