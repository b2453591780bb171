import { type Actor, publicId } from "@collections/database";
import type { EntityManager } from "@collections/entities";
import { type AuditSearch, listAudit, type ListedAct } from "@collections/flows";
import { listLenders } from "@collections/lenders";
import { timeIn } from "@collections/local-time";
import { actsOnOperators } from "@collections/operators";
import { actorText, shownActor } from "./actor-text.ts";
import { codeWords } from "./code-words.ts";
import { actGroups, eventWords } from "./words/act-words.ts";
import { withLocalTimes } from "./words/local-times.ts";

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

/**
 * Returns a page of the audits of all lenders, field partners and operators in words, and the id after which the next begins.
 * `timeZone` is the time zone of all lenders, or null if they have several. Then each time is in that of its lender, or in UTC.
 */
export async function pageOfAudit(
  em: EntityManager,
  { act, by, before }: { act: string | undefined; by: string | undefined; before: string | undefined },
) {
  const actor: Actor | undefined = by === undefined ? undefined : `operator:${by}`;
  const lenders = await listLenders(em);
  const limit = PAGE_SIZE + 1;
  const acts = { lenders, fieldPartner: "all", hasOperators: true, act, actor, before, limit } as const;
  const found = await listWholeAudit(em, acts);
  const [timeZone = "UTC", ...others] = new Set(lenders.map((lender) => lender.timeZone));
  const common = others.length === 0 ? timeZone : null;
  return {
    timeZone: common,
    actGroups: actGroups(),
    entries: found.slice(0, PAGE_SIZE).map((entry) => entryInWords(entry, common ?? "UTC")),
    next: found.length > PAGE_SIZE ? found[PAGE_SIZE - 1]!.id : null,
  };
}

/** Returns an entry in words. A time is in the time zone of the entry's lender, or in `usual`. */
function entryInWords(entry: AuditedAct, usual: string) {
  const { at, data, by, ...shown } = shownAct(entry);
  const timeZone = entry.lender?.timeZone ?? usual;
  const { loan, ...others } = data;
  const hasLoan = shown.lenderCode !== null && typeof loan === "string";
  return {
    ...shown,
    at: timeIn(timeZone, new Date(at)),
    timeZone,
    what: eventWords(entry.act),
    by: actorText(by),
    loan: hasLoan ? loan : null,
    data: dataInWords(hasLoan ? others : data, timeZone),
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

/** Returns an entry's data with names in words and local times. Leaves out what is empty. */
function dataInWords({ changes, ...data }: AuditedAct["data"], timeZone: string): string {
  const { fields: _, ...withoutFields } = data;
  const isSettings = typeof changes === "object" && changes !== null;
  const facts = Object.entries(isSettings ? withoutFields : data)
    .toSorted(([one], [other]) => placeOf(one) - placeOf(other))
    .filter(([, value]) => valueText(value) !== NO_VALUE)
    .map(([name, value]) => `${nameInWords(name)} ${shortened(valueText(value))}`);
  const changed = isSettings
    ? Object.entries(changes).map(([name, change]) => changeText([nameInWords(name), change]))
    : [];
  return withLocalTimes([...changed, ...facts].join("; "), timeZone);
}

/** The fields that come first. PostgreSQL does not keep the order of the fields. */
const FIRST_FIELDS = ["file", "from", "to"];

function placeOf(name: string): number {
  return FIRST_FIELDS.includes(name) ? FIRST_FIELDS.indexOf(name) : FIRST_FIELDS.length;
}

/** Returns the name of a field as words: `stoppedBecause` becomes `stopped because`. */
function nameInWords(name: string): string {
  return codeWords(name.replaceAll(/(?<=[a-z])(?=[A-Z])/g, "_"));
}

const NO_VALUE = "(none)";

function changeText([name, change]: [string, unknown]): string {
  if (typeof change !== "object" || change === null) return `${name} ${String(change)}`;
  const { from, to } = change as { from?: unknown; to?: unknown };
  return `${name} ${shortened(valueText(from))} → ${shortened(valueText(to))}`;
}

function valueText(value: unknown): string {
  if (value === null || value === undefined || value === "") return NO_VALUE;
  if (Array.isArray(value)) return value.map(valueText).join(" + ") || NO_VALUE;
  return typeof value === "string" ? value : JSON.stringify(value);
}

function shortened(text: string): string {
  return text.length > MOST_OF_VALUE ? `${text.slice(0, MOST_OF_VALUE)}…` : text;
}
