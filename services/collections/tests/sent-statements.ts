import { Client } from "pg";
import { vi } from "vitest";

/** Statements as a path sent them: text by name, or by the text itself where it has no name. */
export type SentStatements = ReadonlyMap<string, string>;

type Query = { text: string; name?: string; goesBy?: string } | string;

/**
 * What every connection of this process sends to PostgreSQL while `act` runs, seen where `pg` is handed it: so nothing
 * is listed or copied, and what a path begins to send tomorrow is seen too. `act` can look at what was sent so far, and
 * so wait for what the service sends of its own accord.
 */
export async function statementsDuring(act: (sent: SentStatements) => Promise<void>): Promise<SentStatements> {
  const sent = new Map<string, string>();
  const send = Client.prototype.query as (...args: unknown[]) => unknown;
  const spy = vi.spyOn(Client.prototype, "query").mockImplementation(function (this: Client, ...args: unknown[]) {
    const query = args[0] as Query;
    const { text, name, goesBy } = typeof query === "string" ? { text: query } : query;
    sent.set(name ?? goesBy ?? text, text);
    return send.apply(this, args) as undefined;
  });
  try {
    await act(sent);
  } finally {
    spy.mockRestore();
  }
  return sent;
}
