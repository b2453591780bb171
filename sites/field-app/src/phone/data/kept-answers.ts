import { forget, names, read, write } from "./storage.ts";

/** An answer of the API as it was, to look at where there is no network. */
interface KeptAnswer<Data> {
  readonly atMs: number;
  readonly data: Data;
}

const ANSWERS = "answer.";
/** About as many screens as a day has; the oldest make room. */
const MAX_KEPT = 80;

/** The last answer to the same question. */
export function keptAnswer<Data>(question: string): KeptAnswer<Data> | undefined {
  return read<KeptAnswer<Data>>(ANSWERS + question);
}

export function keepAnswer(question: string, data: unknown): void {
  const kept = names(ANSWERS);
  if (kept.length >= MAX_KEPT) makeRoom(kept);
  try {
    write(ANSWERS + question, { atMs: Date.now(), data });
  } catch {
    // No room: what waits to be sent is worth more than what can be asked again.
    forgetAnswers();
  }
}

/** Borrowers' names are nobody else's business: nothing of them stays when somebody signs out. */
export function forgetAnswers(): void {
  names(ANSWERS).forEach(forget);
}

function makeRoom(kept: readonly string[]): void {
  const byAge = kept.map((name) => ({ name, atMs: read<KeptAnswer<unknown>>(name)?.atMs ?? 0 }));
  const oldest = byAge.toSorted((one, other) => one.atMs - other.atMs).slice(0, kept.length - MAX_KEPT + 1);
  for (const { name } of oldest) forget(name);
}
