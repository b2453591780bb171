import { type Actor, publicId } from "@collections/database";
import type { EntityManager } from "@collections/entities";
import { type AuditSearch, listAudit, type ListedAct } from "@collections/flows";
import { listLenders } from "@collections/lenders";
import { actsOnOperators } from "@collections/operators";
import { shownActor } from "./actor-text.ts";

/** An entry of the audit: an action on a lender, about a field partner, or about an operator's access. */
export type AuditedAct = ListedAct & {
  /** The name of the operator whose access the action concerns; null for all other actions. */
  readonly operator: string | null;
};

/** Which entries to list. Actions about operators' access are listed only with all lenders and field partners. */
export type AuditedActs = AuditSearch & { readonly hasOperators: boolean };

/** Returns a page of the audits of lenders, field partners and operators, newest first. */
export async function listWholeAudit(em: EntityManager, search: AuditedActs): Promise<AuditedAct[]> {
  const { hasOperators, ...others } = search;
  const { act, actor, since, before, limit } = others;
  const listed: AuditedAct[] = (await listAudit(em, others)).map((entry) => ({ ...entry, operator: null }));
  if (!hasOperators) return listed;
  const ofOperators = await actsOnOperators(em, { act, actor, since, before, limit });
  return [...listed, ...ofOperators.map((entry) => ({ ...entry, lender: null, fieldPartner: null }))]
    .toSorted((a, b) => (a.id < b.id ? 1 : -1))
    .slice(0, limit);
}

const PAGE_SIZE = 50;

/** Returns a page of the audits of all lenders, field partners and operators, and the id after which the next begins. */
export async function pageOfAudit(
  em: EntityManager,
  { act, by, before }: { act: string | undefined; by: string | undefined; before: string | undefined },
) {
  const actor: Actor | undefined = by === undefined ? undefined : `operator:${by}`;
  const lenders = await listLenders(em);
  const limit = PAGE_SIZE + 1;
  const acts = { lenders, fieldPartner: "all", hasOperators: true, act, actor, before, limit } as const;
  const found = await listWholeAudit(em, acts);
  return {
    entries: found.slice(0, PAGE_SIZE).map(shownAct),
    next: found.length > PAGE_SIZE ? found[PAGE_SIZE - 1]!.id : null,
  };
}

/** Returns an entry as `audit list --json` and the console show it. */
export function shownAct({ at, lender, fieldPartner, operator, act, actor, reason, data }: AuditedAct) {
  return {
    at: at.toISOString(),
    lenderCode: lender?.code ?? null,
    fieldPartnerId: fieldPartner && publicId("fp", fieldPartner.id),
    fieldPartnerName: fieldPartner?.displayName ?? null,
    operator,
    act,
    by: shownActor(actor),
    reason,
    data: operator === null ? withPublicId(data, "caseId", "case") : withPublicId(data, "sessionId", "ses"),
  };
}

function withPublicId(data: AuditedAct["data"], field: string, prefix: string): AuditedAct["data"] {
  const id = data[field];
  return typeof id === "string" ? { ...data, [field]: publicId(prefix, id) } : data;
}

const MOST_OF_DATA = 80;
const MOST_OF_VALUE = 120;

/**
 * Returns the beginning of an entry's data. If the entry has changes of settings, returns each of them with the old and
 * the new value. `--json` and `--csv` have everything.
 */
export function dataText({ changes, ...data }: AuditedAct["data"]): string {
  if (typeof changes === "object" && changes !== null) return Object.entries(changes).map(changeText).join("; ");
  const text = Object.entries(data)
    .map(([name, value]) => `${name} ${valueText(value)}`)
    .join(", ");
  return text.length > MOST_OF_DATA ? `${text.slice(0, MOST_OF_DATA)}…` : text;
}

function changeText([name, change]: [string, unknown]): string {
  if (typeof change !== "object" || change === null) return `${name} ${String(change)}`;
  const { from, to } = change as { from?: unknown; to?: unknown };
  return `${name} ${shortened(valueText(from))} → ${shortened(valueText(to))}`;
}

function valueText(value: unknown): string {
  if (value === null || value === undefined || value === "") return "(none)";
  if (Array.isArray(value)) return value.map(valueText).join(" + ") || "(none)";
  return typeof value === "string" ? value : JSON.stringify(value);
}

function shortened(text: string): string {
  return text.length > MOST_OF_VALUE ? `${text.slice(0, MOST_OF_VALUE)}…` : text;
}
