import { forget, names, read, write } from "./storage.ts";

/** A stored answer of the API, to be shown without a network. */
interface KeptAnswer<Data> {
  readonly atMs: number;
  readonly data: Data;
}

const ANSWERS = "answer.";
/** About as many screens as are used in a day; the oldest answers are removed first. */
const MAX_KEPT = 80;

/** Returns the last stored answer to the same query. */
export function keptAnswer<Data>(question: string): KeptAnswer<Data> | undefined {
  return read<KeptAnswer<Data>>(ANSWERS + question);
}

export function keepAnswer(question: string, data: unknown): void {
  const kept = names(ANSWERS);
  if (kept.length >= MAX_KEPT) makeRoom(kept);
  try {
    write(ANSWERS + question, { atMs: Date.now(), data });
  } catch {
    // The storage is full. The outbox matters more than answers, which can be requested again.
    forgetAnswers();
  }
}

/** Deletes all stored answers at sign-out, because they contain borrowers' names. */
export function forgetAnswers(): void {
  names(ANSWERS).forEach(forget);
}

function makeRoom(kept: readonly string[]): void {
  const byAge = kept.map((name) => ({ name, atMs: read<KeptAnswer<unknown>>(name)?.atMs ?? 0 }));
  const oldest = byAge.toSorted((one, other) => one.atMs - other.atMs).slice(0, kept.length - MAX_KEPT + 1);
  for (const { name } of oldest) forget(name);
}
