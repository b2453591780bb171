import type { ClientBase, Pool } from "pg";
import { CONNECTION_TIMEOUT_MS } from "../connection/client-config.ts";
import { newClient } from "../connection/server-client.ts";
import { CLIENT_TIMEOUT_MS } from "./pooler.ts";
import { NodeAwayError } from "../sql/sql-state.ts";
import { type Statement, statement } from "../sql/statement.ts";

export interface NodeWatchOptions {
  readonly url: string;
  /** Selects the `id` of every lender from a table that each node has. */
  readonly lenderIds: Statement;
  /** How long a statement waits for a connection of the pool. */
  readonly connectionTimeoutMs: number;
  /** The pool whose connections are watched. Undefined for a host's pool, where a connection may be in use for hours. */
  readonly pool: Pool | undefined;
}

/** The state of a cluster with a node that does not answer. */
export interface NodesAway {
  /** Lenders whose nodes answer. */
  readonly reachable: readonly string[];
  /** Lenders whose nodes do not answer. */
  readonly unreachable: ReadonlySet<string>;
  /**
   * Connections acquired before this time may be waiting for a silent node. 0 if each node that is down refused its
   * connection at once.
   */
  readonly hangingBeforeMs: number;
}

/** A connection in use. */
interface Use {
  readonly client: ClientBase;
  readonly sinceMs: number;
  /** The values of the first statement of the transaction. They contain the id of its lender. */
  values: readonly unknown[] | undefined;
}

const CHECK_EVERY_MS = 500;
/** Most transactions take milliseconds. A connection in use for longer may be waiting for a node that does not answer. */
const HANGING_MS = 1_000;
const ASK_EVERY_MS = 2_000;
/**
 * How long a node may take to accept a connection. The sum of this time, HANGING_MS and CHECK_EVERY_MS is below
 * CONNECTION_TIMEOUT_MS.
 */
const NODE_ANSWERS_WITHIN_MS = 2_000;

/**
 * Finds out which nodes of a cluster do not answer, so that statements for their lenders fail at once. Otherwise each such
 * statement would hold a connection until its time limit, and no connection would be left for the lenders on other nodes.
 *
 * It checks the nodes through a connection outside the pool: when a connection has been in use for a second, when a
 * transaction has failed because something was unavailable, and every two seconds while a node is down.
 */
export class NodeWatch {
  readonly #options: NodeWatchOptions;
  /** The connections in use, in the order in which they were acquired. */
  readonly #inUse = new Map<object, Use>();
  #away: NodesAway | undefined;
  #asking: Promise<NodesAway | undefined> | undefined;
  #askedAtMs = -Infinity;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: NodeWatchOptions) {
    this.#options = options;
  }

  /** The result of the last check; undefined if all nodes answered. */
  get away(): NodesAway | undefined {
    return this.#away;
  }

  /** Starts to watch the pool. Call it on a cluster only. Further calls do nothing. */
  start(): void {
    if (this.#timer) return;
    this.#options.pool?.on("acquire", this.#onAcquire).on("release", this.#onRelease);
    this.#timer = setInterval(() => this.#checkConnections(), CHECK_EVERY_MS).unref();
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.#options.pool?.off("acquire", this.#onAcquire).off("release", this.#onRelease);
    await this.#asking?.catch(() => {});
  }

  /**
   * Throws if a statement is for a lender whose node does not answer. Also keeps the values of the first statement of
   * each transaction, which show its lender. Call it before each statement is sent, with the values of the statement
   * and the client of its transaction.
   * @throws NodeAwayError if a value, or an element of a value, is the id of a lender whose node does not answer
   */
  check(values: readonly unknown[], client?: object): void {
    const unreachable = this.#away?.unreachable;
    if (unreachable && hasAny(values, unreachable)) throw new NodeAwayError();
    const use = client && this.#inUse.get(client);
    if (use) use.values ??= values;
  }

  /** Checks the nodes now. Concurrent callers share one check. Throws if the coordinator does not answer. */
  async ask(): Promise<NodesAway | undefined> {
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = undefined;
    });
    return this.#asking;
  }

  /** Checks the nodes, at most every two seconds. Call it when a transaction has failed because something was unavailable. */
  suspect(): void {
    if (this.#asking || performance.now() - this.#askedAtMs < ASK_EVERY_MS) return;
    // Ignore the error: `ask` fails if the coordinator does not answer, and then all statements fail by themselves.
    this.ask().catch(() => {});
  }

  readonly #onAcquire = (client: ClientBase): void =>
    void this.#inUse.set(client, { client, sinceMs: performance.now(), values: undefined });

  readonly #onRelease = (_error: unknown, client: ClientBase): void => void this.#inUse.delete(client);

  #checkConnections(): void {
    const nowMs = performance.now();
    this.#endHanging(nowMs);
    const [oldest] = this.#inUse.values();
    if (this.#away || (oldest && nowMs - oldest.sinceMs >= HANGING_MS)) this.suspect();
  }

  async #ask(): Promise<NodesAway | undefined> {
    const before = this.#away;
    this.#askedAtMs = performance.now();
    try {
      const found = await askNodes(this.#options);
      const nowMs = performance.now();
      const isSilent = nowMs - this.#askedAtMs >= NODE_ANSWERS_WITHIN_MS;
      const hasNew = [...(found?.unreachable ?? [])].some((lenderId) => !before?.unreachable.has(lenderId));
      // Also suspects connections that are acquired within the next `connectionTimeoutMs`. A statement may have passed
      // `check` before the node was found silent, and may still wait that long for a connection of the pool.
      const hangingBeforeMs =
        hasNew && isSilent ? nowMs + this.#options.connectionTimeoutMs : (before?.hangingBeforeMs ?? 0);
      this.#away = found && { ...found, hangingBeforeMs };
      this.#endHanging(nowMs);
    } catch (error) {
      this.#away = undefined;
      throw error;
    }
    return this.#away;
  }

  /**
   * Ends connections that may be waiting for a silent node, because they were acquired before the check found the node
   * silent. Connections are kept if the first statement of their transaction was for a lender whose node answers.
   */
  #endHanging(nowMs: number): void {
    const { hangingBeforeMs = 0, reachable = [] } = this.#away ?? {};
    for (const { client, sinceMs, values = [] } of this.#inUse.values()) {
      if (sinceMs > hangingBeforeMs || nowMs - sinceMs < HANGING_MS) continue;
      if (hasAny(values, new Set(reachable))) continue;
      this.#inUse.delete(client);
      streamOf(client).destroy(new NodeAwayError());
    }
  }
}

function hasAny(values: readonly unknown[], lenderIds: ReadonlySet<unknown>): boolean {
  return values.flat().some((value) => lenderIds.has(value));
}

function streamOf(client: ClientBase): { destroy(error: Error): void } {
  return (client as ClientBase & { readonly connection: { readonly stream: { destroy(error: Error): void } } })
    .connection.stream;
}

async function askNodes({ url, lenderIds }: NodeWatchOptions): Promise<Omit<NodesAway, "hangingBeforeMs"> | undefined> {
  const client = newClient(url, {
    application_name: "collections-nodes",
    connectionTimeoutMillis: CONNECTION_TIMEOUT_MS,
    query_timeout: CLIENT_TIMEOUT_MS,
  });
  client.on("error", () => {});
  const rowsOf = async <Row>({ text }: Statement, values: unknown[] = []) =>
    (await client.query(text, values)).rows as Row[];
  try {
    await client.connect();
    // Make the setting in a transaction, so that it does not stay in the session, which may belong to a pooler.
    await client.query("begin");
    await client.query(`set local citus.node_connection_timeout = '${NODE_ANSWERS_WITHIN_MS}ms'`);
    const nodes = await rowsOf<{ groupId: number; answers: boolean }>(nodesThatAnswer);
    if (nodes.every(({ answers }) => answers)) return undefined;
    const groups = nodes.filter(({ answers }) => answers).map(({ groupId }) => groupId);
    const all = (await rowsOf<{ id: string }>(lenderIds)).map(({ id }) => id);
    const reachable = (await rowsOf<{ id: string }>(lendersOnNodes, [all, groups])).map(({ id }) => id);
    const unreachable = new Set(all);
    for (const id of reachable) unreachable.delete(id);
    return { reachable, unreachable };
  } finally {
    await client.end().catch(() => {});
  }
}

const nodesThatAnswer = statement(
  "database.nodes-that-answer",
  `select groupid as "groupId", citus_check_connection_to_node(nodename, nodeport) as answers
   from pg_dist_node where isactive and noderole = 'primary'`,
);

/** All distributed tables are colocated, so any of them shows on which node a lender's rows are. */
const lendersOnNodes = statement(
  "database.lenders-on-nodes",
  `with placed as materialized (
     select lender.id, get_shard_id_for_distribution_column(
       (select logicalrelid from pg_dist_partition where partmethod = 'h' order by logicalrelid limit 1), lender.id) as shard
     from unnest($1::uuid[]) as lender (id)
   )
   select placed.id from placed join pg_dist_placement p on p.shardid = placed.shard
   where p.groupid = any ($2::integer[])`,
);
