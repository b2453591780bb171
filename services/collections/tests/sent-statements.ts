import { Client } from "pg";
import { vi } from "vitest";

/** Statements as a path sent them: text by name, or by the text itself where it has no name. */
export type SentStatements = ReadonlyMap<string, string>;

/** One statement with the values that it was sent with. */
export interface SentQuery {
  /** The text itself where the statement has no name. */
  readonly name: string;
  readonly text: string;
  readonly values: readonly unknown[];
}

type Query = { text: string; name?: string; goesBy?: string; values?: unknown[] } | string;

/**
 * What every connection of this process sends to PostgreSQL while `act` runs, seen where `pg` is handed it: so nothing
 * is listed or copied, and what a path begins to send tomorrow is seen too. `act` can look at what was sent so far, and
 * so wait for what the service sends of its own accord.
 */
export async function statementsDuring(act: (sent: SentStatements) => Promise<void>): Promise<SentStatements> {
  const sent = new Map<string, string>();
  await observing(
    ({ name, text }) => void sent.set(name, text),
    () => act(sent),
  );
  return sent;
}

/** As `statementsDuring`, with the values: every query in the order in which it was sent. */
export async function queriesDuring(act: (sent: readonly SentQuery[]) => Promise<void>): Promise<SentQuery[]> {
  const sent: SentQuery[] = [];
  await observing(
    (query) => void sent.push(query),
    () => act(sent),
  );
  return sent;
}

async function observing(onQuery: (query: SentQuery) => void, act: () => Promise<void>): Promise<void> {
  const send = Client.prototype.query as (...args: unknown[]) => unknown;
  const spy = vi.spyOn(Client.prototype, "query").mockImplementation(function (this: Client, ...args: unknown[]) {
    const query = args[0] as Query;
    const { text, name, goesBy, values } = typeof query === "string" ? { text: query } : query;
    const given = values ?? (Array.isArray(args[1]) ? (args[1] as unknown[]) : []);
    onQuery({ name: name ?? goesBy ?? text, text, values: given });
    return send.apply(this, args) as undefined;
  });
  try {
    await act();
  } finally {
    spy.mockRestore();
  }
}
