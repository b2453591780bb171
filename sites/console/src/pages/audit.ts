import type { AuditPage, AuditSearch } from "../desk.ts";
import { type Html, html } from "../html.ts";
import { filters, nextPage, withWholeDays } from "../list-parts.ts";
import type { PageContent } from "../page.ts";
import { casePath } from "../paths.ts";

/** Reads what to show from a query. Values that no act, operator or entry can have do not restrict the page. */
export function auditSearchOf(query: URLSearchParams): AuditSearch {
  const matching = (name: string, pattern: RegExp) => {
    const value = query.get(name)?.trim();
    return value !== undefined && pattern.test(value) ? value : undefined;
  };
  return {
    act: matching("act", /^[a-z_.]{1,60}$/),
    by: matching("by", /^[^\p{Cc}]{1,200}$/u),
    before: matching("before", /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/),
  };
}

/** Lists the acts of operators and field partners, newest first. */
export function auditPage(home: string, search: AuditSearch, page: AuditPage): PageContent {
  const { entries, next } = page;
  const at = { home, path: "/audit" };
  const { act, by } = search;
  return {
    title: "Audit",
    main: html`<h1>Audit</h1>
      ${filters(
        at,
        { set: [act !== undefined && wordsOf(act, page), by !== undefined && `by ${by}`], clear: "" },
        html`<form method="get" action="${home}/audit" class="choice">
          <label for="act">Act</label>
          <select id="act" name="act">
            <option value="">All</option>
            ${actOptions(act, page)}
          </select>
          <label for="by">Operator</label>
          <input id="by" name="by" maxlength="200" value="${by ?? ""}" />
          <button type="submit" class="plain">Show</button>
        </form>`,
      )}
      ${entries.length === 0 ? html`<p role="status" class="empty">No entry matches. Choose all acts, or leave the operator empty.</p>` : listOf(home, page)}
      ${next === null ? "" : nextPage(at, { act, by, before: next }, "Older entries")}`,
  };
}

/** Returns the words of an act or of a beginning of acts, or its code if it is not known. */
function wordsOf(chosen: string, { actGroups }: AuditPage): string {
  const group = actGroups.find(({ beginning }) => beginning === chosen);
  const known = actGroups.flatMap(({ acts }) => acts).find(([act]) => act === chosen);
  return group?.words ?? known?.[1] ?? chosen;
}

function actOptions(chosen: string | undefined, page: AuditPage): Html[] {
  const option = (value: string, label: string) =>
    value === chosen
      ? html`<option value="${value}" selected>${label}</option>`
      : html`<option value="${value}">${label}</option>`;
  const isKnown = chosen === undefined || wordsOf(chosen, page) !== chosen;
  return [
    ...(isKnown ? [] : [option(chosen, `${chosen}…`)]),
    ...page.actGroups.map(({ beginning, words, acts }) =>
      acts.length === 1
        ? option(...acts[0]!)
        : html`<optgroup label="${words}">
            ${option(beginning, `${words}: all`)} ${acts.map(([act, label]) => option(act, label))}
          </optgroup>`,
    ),
  ];
}

function listOf(home: string, { entries, timeZone }: AuditPage): Html {
  const zones = timeZone === null ? "Each time is in the time zone of its lender, or in UTC." : `Times in ${timeZone}.`;
  return html`<p class="about">Newest first. ${zones}</p>
    <section class="panel">
      <ol class="timeline">
        ${entries.map(
          (entry) =>
            html`<li>
              <span class="at">${entry.at} ${timeZone === null ? html`<small>${entry.timeZone}</small>` : ""}</span>
              <span><b>${entry.what}</b> <small>${entry.act}</small></span>
              <span>${aboutOf(home, entry)}</span>
            </li>`,
        )}
      </ol>
    </section>`;
}

function aboutOf(home: string, entry: AuditPage["entries"][number]): Html {
  const { by, lenderCode, loan, fieldPartnerName, operator, reason, data } = entry;
  const subject = [lenderCode ?? fieldPartnerName ?? operator, by === "" ? null : `by ${by}`]
    .filter(Boolean)
    .join(", ");
  const loanLink = loan === null ? "" : html`, loan <a href="${home}${casePath(lenderCode!, loan)}">${loan}</a>`;
  const rest = [reason, data].filter(Boolean).join(" · ");
  return html`${subject}${loanLink}${rest === "" ? "" : html` · ${withWholeDays(rest)}`}`;
}
