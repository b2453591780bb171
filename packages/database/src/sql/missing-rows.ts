import type { ClientBase } from "pg";

/**
 * Citus could not find an intermediate result of this statement, and answered without its rows. The answer is
 * discarded, because rows are missing from it. In a transaction nothing is committed.
 *
 * @example
 * const invoices = await query(em, openInvoices, []).catch((error: unknown) => {
 *   if (error instanceof MissingRowsError) console.error(`Report this query as a bug: ${error.message}`);
 *   throw error;
 * });
 */
export class MissingRowsError extends Error {
  override readonly name = "MissingRowsError";
  /** The SQLSTATE of Citus's warning that rows are missing. */
  readonly code = "CIINF";

  constructor(warning: string) {
    super(`Citus answered without some of the rows, so the answer was discarded. Its warning: ${warning}`);
  }
}

const INTERMEDIATE_RESULT_NOT_FOUND = "CIINF";

/** The statement in `pg` whose answer is arriving. */
interface ActiveQuery {
  callback?: (error: Error | null, result?: unknown) => void;
}

interface ClientInternals {
  _getActiveQuery?(): ActiveQuery | null;
  readonly connection: { readonly stream: { destroy(error: Error): void } };
}

/**
 * Calls `act` whenever Citus warns this client that rows are missing. Returns a function that stops listening.
 */
export function onMissingRows(client: ClientBase, act: (error: MissingRowsError) => void): () => void {
  const onNotice = ({ code, message }: { code?: string | undefined; message?: string | undefined }): void => {
    if (code === INTERMEDIATE_RESULT_NOT_FOUND) act(new MissingRowsError(message ?? code));
  };
  client.on("notice", onNotice);
  return () => client.off("notice", onNotice);
}

/**
 * Makes a statement of this client fail when Citus warns that rows are missing from its answer. Statements without such
 * a warning are not slower. Returns a function that ends this behaviour.
 */
export function failOnMissingRows(client: ClientBase): () => void {
  return onMissingRows(client, (error) => failActiveQuery(client as unknown as ClientInternals, error));
}

/**
 * PostgreSQL answers pipelined statements in the order of sending, so a notice belongs to the statement whose answer is
 * arriving. If PostgreSQL also reports an error for that statement, the statement fails with that error.
 */
function failActiveQuery(client: ClientInternals, missing: MissingRowsError): void {
  const active = client._getActiveQuery?.();
  const callback = active?.callback;
  // If `pg` does not say which statement is being answered, every statement of the connection fails.
  if (!active || !callback) return client.connection.stream.destroy(missing);
  active.callback = (error, result) => (error ? callback(error) : callback(missing, result));
}
