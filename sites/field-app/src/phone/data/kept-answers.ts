import type { CaseAnswer } from "./answers.ts";
import { ONE_CASE, type Operation } from "./operations.ts";
import { Stored } from "./storage.ts";
import { storedDay } from "./stored-day.ts";

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
 * The maximum number of stored answers, besides the cases: enough for the screens of about a day. The oldest answers are
 * removed first. The cases are removed when they are no longer the field partner's.
 */
const MAX_KEPT = 60;

/** Returns the last stored answer to the same query. */
export function keptAnswer<Data>(question: Question<Data>): KeptAnswer<Data> | undefined {
  // The type is safe: `keepAnswer` stores each answer under the name of the query that returned it.
  return answers.read(nameOf(question)) as KeptAnswer<Data> | undefined;
}

/** Stores an answer. Returns false if the storage of the phone is full. Then all stored answers are deleted. */
export function keepAnswer<Data>(question: Question<Data>, data: Data): boolean {
  if (question.operation !== ONE_CASE) makeRoom();
  else if ((data as CaseAnswer).case === null) {
    // The case is no longer the field partner's, so it does not count among the cases on this phone.
    forgetAnswer(question);
    return true;
  }
  try {
    answers.write({ atMs: Date.now(), data }, nameOf(question));
    return true;
  } catch {
    // The answers can be requested again, and the outbox needs the space.
    forgetAnswers();
    return false;
  }
}

export function forgetAnswer(question: Question<unknown>): void {
  answers.forget(nameOf(question));
}

/** Returns the variables of each stored answer of an operation. */
export function keptVariables(operation: Operation<unknown>): Record<string, unknown>[] {
  const prefix = nameOf({ operation, variables: {} }).slice(0, -"{}".length);
  return answers.keys(prefix).map((key) => JSON.parse(key.slice(prefix.length)) as Record<string, unknown>);
}

/** Deletes all stored answers at sign-out, because they contain borrowers' names. */
export function forgetAnswers(): void {
  for (const name of answers.keys()) answers.forget(name);
  storedDay.forget();
}

function makeRoom(): void {
  const cases = new Set(answers.keys(nameOf({ operation: ONE_CASE }).slice(0, -"{}".length)));
  const others = answers.keys().filter((name) => !cases.has(name));
  if (others.length < MAX_KEPT) return;
  const byAge = others.map((name) => ({ name, atMs: answers.read(name)?.atMs ?? 0 }));
  const oldest = byAge.toSorted((one, other) => one.atMs - other.atMs).slice(0, others.length - MAX_KEPT + 1);
  for (const { name } of oldest) answers.forget(name);
}

function nameOf({ operation, variables = {} }: Question<unknown>): string {
  return `${/\w+ (\w+)/.exec(operation)?.[1] ?? ""}.${JSON.stringify(variables)}`;
}
