import {
  firstIdAt,
  oneAfterAnother,
  oneLenderInsert,
  query,
  send,
  statement,
  transaction,
} from "@collections/database";
import type { EntityManager } from "@collections/entities";
import type { AnsweredRequest, RequestLog } from "./request-log.ts";

/** The most ids of keys that one call looks up for requests without a right signature. */
const MOST_LOOKED_UP = 100;
/** How long requests are kept. */
const KEEP_MS = 7 * 86_400_000;
/** How many rows one statement deletes. */
const DELETED_AT_ONCE = 10_000;

/** The parts that write requests. */
export interface RequestWriting {
  readonly em: () => EntityManager;
  /** Returns the lender of a key; undefined for an unknown key. */
  readonly lenderIdOf: (keyId: string) => Promise<string | undefined>;
  readonly requestLog: RequestLog;
}

/**
 * Writes the requests since the last call, with one transaction for each lender. Requests with an unknown key are dropped.
 * A request of a failed transaction is lost, and so is one of a killed process: nothing depends on them. Returns how many
 * requests were left out, because they exceeded a limit.
 *
 * @example
 * const leftOut = await writeRequests({ em: () => em, requestLog, lenderIdOf });
 */
export async function writeRequests({ em, lenderIdOf, requestLog }: RequestWriting): Promise<number> {
  const { requests, leftOut } = requestLog.take();
  const { firstUses } = requestLog;
  const lenderOf = await lendersOfKeys(requests, lenderIdOf);
  const byLender = Map.groupBy(requests, ({ keyId, lenderId }) => lenderId ?? lenderOf.get(keyId));
  await oneAfterAnother(em(), [...byLender], async ([lenderId, own]) => {
    if (lenderId === undefined) return;
    const newUses = newUsesOf(lenderId, own, firstUses);
    await transaction(em(), async (tx) => {
      send(tx, insertRequests, [lenderId, ...columnsOf(own)]);
      if (newUses.length > 0) {
        const endpoints = newUses.map(({ endpoint }) => endpoint);
        send(tx, insertFirstUses, [lenderId, endpoints, newUses.map(({ receivedAt }) => receivedAt.toISOString())]);
      }
    });
    for (const { endpoint } of newUses) firstUses.add(`${lenderId} ${endpoint}`);
  });
  return leftOut;
}

/** Returns the lenders of the keys that requests without a right signature name. */
async function lendersOfKeys(
  requests: readonly AnsweredRequest[],
  lenderIdOf: RequestWriting["lenderIdOf"],
): Promise<ReadonlyMap<string, string>> {
  const unsigned = requests.filter(({ lenderId }) => lenderId === undefined).map(({ keyId }) => keyId);
  const found = new Map<string, string>();
  for (const keyId of [...new Set(unsigned)].slice(0, MOST_LOOKED_UP)) {
    const lenderId = await lenderIdOf(keyId);
    if (lenderId !== undefined) found.set(keyId, lenderId);
  }
  return found;
}

/**
 * Deletes requests of a lender that are older than seven days, 10,000 at most. Returns whether there may be more.
 *
 * @example
 * while (await deleteOldRequests(em, lenderId, new Date()));
 */
export async function deleteOldRequests(em: EntityManager, lenderId: string, now: Date): Promise<boolean> {
  const before = firstIdAt(new Date(now.getTime() - KEEP_MS));
  const [row] = await query<{ deleted: number }>(em, deleteOld, [lenderId, before, DELETED_AT_ONCE]);
  return row!.deleted === DELETED_AT_ONCE;
}

/** Returns the first request to each endpoint that this process has not written yet. */
function newUsesOf(
  lenderId: string,
  own: readonly AnsweredRequest[],
  firstUses: ReadonlySet<string>,
): readonly AnsweredRequest[] {
  const successful = own.filter(({ isSigned, status }) => isSigned && status < 400);
  const uses = new Map(successful.toReversed().map((request) => [request.endpoint, request]));
  return [...uses.values()].filter(({ endpoint }) => !firstUses.has(`${lenderId} ${endpoint}`));
}

function columnsOf(own: readonly AnsweredRequest[]): unknown[] {
  return [
    own.map(({ id }) => id),
    own.map(({ receivedAt }) => receivedAt.toISOString()),
    own.map(({ keyId }) => keyId),
    own.map(({ isSigned }) => isSigned),
    own.map(({ method }) => method),
    own.map(({ path }) => path),
    own.map(({ endpoint }) => endpoint),
    own.map(({ status }) => status),
    own.map(({ code }) => code),
    own.map(({ durationMs }) => durationMs),
  ];
}

const insertRequests = oneLenderInsert("request-log.add", {
  table: "request_log.request",
  columns: {
    id: "uuid",
    received_at: "timestamptz",
    key_id: "text",
    is_signed: "boolean",
    method: "text",
    path: "text",
    endpoint: "text",
    status: "smallint",
    code: "text",
    duration_ms: "integer",
  },
  ending: "on conflict do nothing",
});

const insertFirstUses = oneLenderInsert("request-log.add-first-uses", {
  table: "request_log.first_use",
  columns: { endpoint: "text", used_at: "timestamptz" },
  ending: "on conflict do nothing",
});

// The oldest rows are read by the primary key, and only as many as one statement deletes.
const deleteOld = statement(
  "request-log.delete-old",
  `with old as (
     select r.id from request_log.request r where r.lender_id = $1 and r.id < $2 order by r.id limit (select $3::bigint)
   ), gone as (
     delete from request_log.request r using old where r.lender_id = $1 and r.id = old.id returning 1
   )
   select count(*)::integer as deleted from gone`,
);
