import type { Operation } from "./operations.ts";
import { Stored } from "./storage.ts";

/** A query. Its operation and variables form the name under which its answer is stored. */
export interface Question<Data> {
  readonly operation: Operation<Data>;
  readonly variables?: object;
}

/** A stored answer of the API, to be shown without a network. */
interface KeptAnswer<Data> {
  readonly atMs: number;
  readonly data: Data;
}

const answers = new Stored<KeptAnswer<unknown>>("answer.");
/**
 * The maximum number of stored answers, enough for the screens of about a day. The oldest answers are removed first.
 */
const MAX_KEPT = 80;

/** Returns the last stored answer to the same query. */
export function keptAnswer<Data>(question: Question<Data>): KeptAnswer<Data> | undefined {
  // The type is safe: `keepAnswer` stores each answer under the name of the query that returned it.
  return answers.read(nameOf(question)) as KeptAnswer<Data> | undefined;
}

export function keepAnswer<Data>(question: Question<Data>, data: Data): void {
  const kept = answers.keys();
  if (kept.length >= MAX_KEPT) makeRoom(kept);
  try {
    answers.write({ atMs: Date.now(), data }, nameOf(question));
  } catch {
    // The storage is full, so delete all answers. They can be requested again, and the outbox needs the space.
    forgetAnswers();
  }
}

/** Deletes all stored answers at sign-out, because they contain borrowers' names. */
export function forgetAnswers(): void {
  for (const name of answers.keys()) answers.forget(name);
}

function makeRoom(kept: readonly string[]): void {
  const byAge = kept.map((name) => ({ name, atMs: answers.read(name)?.atMs ?? 0 }));
  const oldest = byAge.toSorted((one, other) => one.atMs - other.atMs).slice(0, kept.length - MAX_KEPT + 1);
  for (const { name } of oldest) answers.forget(name);
}

function nameOf({ operation, variables = {} }: Question<unknown>): string {
  return `${/\w+ (\w+)/.exec(operation)?.[1] ?? ""}.${JSON.stringify(variables)}`;
}
