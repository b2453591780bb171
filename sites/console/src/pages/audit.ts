import type { AuditPage, AuditSearch } from "../desk.ts";
import { type Html, html } from "../html.ts";
import type { PageContent } from "../page.ts";

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
export function auditPage(home: string, search: AuditSearch, { entries, next }: AuditPage): PageContent {
  return {
    title: "Audit",
    main: html`<h1>Audit</h1>
      <form method="get" action="${home}/audit" class="choice">
        <label for="act">Act begins with</label>
        <input id="act" name="act" size="28" placeholder="case. or contact.revealed" value="${search.act ?? ""}" />
        <label for="by">Operator</label>
        <input id="by" name="by" maxlength="200" value="${search.by ?? ""}" />
        <button type="submit" class="plain">Show</button>
      </form>
      ${entries.length === 0 ? html`<p role="status" class="empty">No entry matches. Shorten the act, or leave the operator empty.</p>` : listOf(entries)}
      ${next === null ? "" : html`<p class="more"><a href="${home}/audit?${nextQuery(search, next)}">Older entries</a></p>`}`,
  };
}

function nextQuery({ act, by }: AuditSearch, before: string): string {
  return new URLSearchParams({ ...(act && { act }), ...(by && { by }), before }).toString();
}

function listOf(entries: AuditPage["entries"]): Html {
  return html`<p class="about">Newest first, times in UTC.</p>
    <section class="panel">
      <ol class="timeline">
        ${entries.map(
          ({ at, act, by, lenderCode, fieldPartnerName, operator, reason, data }) =>
            html`<li>
              <span class="at">${at.slice(0, 19).replace("T", " ")}</span>
              <b>${act}</b>
              <span
                >${[
                  [lenderCode ?? fieldPartnerName ?? operator, by === "" ? null : `by ${by}`]
                    .filter(Boolean)
                    .join(", "),
                  reason,
                  data,
                ]
                  .filter(Boolean)
                  .join(" · ")}</span
              >
            </li>`,
        )}
      </ol>
    </section>`;
}
