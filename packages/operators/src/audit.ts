import { type Actor, AFTER_ALL_IDS, currentActor, firstIdSince, newId } from "@collections/database";
import type { EntityManager, Tx } from "@collections/entities";
import { OperatorAuditEntryEntity } from "./schema.ts";

/** An action to record about an operator's access. `data` must not contain a token. */
export interface OperatorAct {
  /** The name of the operator whom the action concerns. */
  readonly operator: string;
  readonly act:
    | "operator.link_created"
    | "operator.signed_in"
    | "operator.signed_out"
    | "operator.revoked"
    | "operator.change_requested"
    | "operator.change_confirmed"
    | "operator.change_declined";
  readonly reason?: string | undefined;
  readonly data?: Readonly<Record<string, unknown>>;
  /** The actor. Default: the actor of the running work. */
  readonly actor?: Actor | undefined;
}

/** Which entries of the operators' audit to list. An absent field does not restrict the list. */
export interface OperatorAuditFilter {
  /** Only actions whose kind begins with this text, such as `operator.signed`. */
  readonly act?: string | undefined;
  /** Only actions of this actor. */
  readonly actor?: Actor | undefined;
  readonly since?: Date | undefined;
  /** Only entries before the entry with this id, which is the last of the previous page. */
  readonly before?: string | undefined;
  /** The maximum number of entries, 1 or more. */
  readonly limit: number;
}

/** A recorded action about an operator's access. */
export interface ListedOperatorAct {
  readonly id: string;
  /** The name of the operator whom the action concerns. */
  readonly operator: string;
  readonly act: string;
  readonly reason: string | null;
  readonly data: Readonly<Record<string, unknown>>;
  readonly at: Date;
  readonly actor: Actor;
}

/** Adds an action to the append-only audit. */
export function recordOperatorAct(tx: Tx, done: OperatorAct, now: Date): void {
  const { operator, act, reason = null, data, actor = currentActor() } = done;
  tx.create(OperatorAuditEntryEntity, { id: newId(), operator, act, reason, data: { ...data }, at: now, actor });
}

/**
 * Returns a page of the recorded actions about operators' access, newest first.
 *
 * @example
 * const acts = await actsOnOperators(em, { act: "operator.signed_in", limit: 50 });
 * const names = new Set(acts.map(({ operator }) => operator));
 */
export async function actsOnOperators(
  em: EntityManager,
  { act, actor, since, before, limit }: OperatorAuditFilter,
): Promise<ListedOperatorAct[]> {
  return em.find(
    OperatorAuditEntryEntity,
    {
      id: { $lt: before ?? AFTER_ALL_IDS, $gte: firstIdSince(since) },
      ...(since && { at: { $gte: since } }),
      ...(actor !== undefined && { actor }),
      // In LIKE, an underscore is a wildcard.
      ...(act !== undefined && { act: { $like: `${act.replaceAll(/[\\%_]/g, String.raw`\$&`)}%` } }),
    },
    { orderBy: { id: "desc" }, limit, disableIdentityMap: true },
  );
}
