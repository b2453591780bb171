import { type Html, html } from "../html.ts";
import { factList, listTable } from "../list-parts.ts";
import type { PageContent } from "../page.ts";
import type { SystemPage } from "../reads/system.ts";
import { capitalized, countText, utcText, words } from "../words.ts";

type Report = NonNullable<SystemPage["report"]>;

/** The latest report of `doctor`, the events of each lender, and the versions. */
export function systemPage(home: string, { versions, report }: SystemPage): PageContent {
  return {
    title: "System",
    main: html`<h1>System</h1>
      ${
        report
          ? html`<p class="about">
                Checked at ${utcText(report.at)}. If this is more than a minute ago, open the page again in a few
                seconds for a new report.
              </p>
              <section class="panel">
                <h2>Problems</h2>
                ${problemList(home, report)}
              </section>
              <section class="panel">
                <h2>Events</h2>
                ${queueTable(home, report)}
              </section>`
          : html`<p role="status" class="empty">The report is being made. Open the page again in a few seconds.</p>`
      }
      <section class="panel">
        <h2>Versions</h2>
        ${factList(versions.map(([name, value]) => [name, capitalized(value)]))}
      </section>`,
  };
}

function problemList(home: string, { problems, isComplete }: Report): Html {
  const note = isComplete ? "" : html`<p class="about">A node does not answer, so nothing else was checked.</p>`;
  if (problems.length === 0) return html`<p role="status" class="empty">No faults and no warnings.</p>`;
  return html`${note}
    <ul class="problems">
      ${problems.map(
        ({ severity, code, lenderCode, detail, remedy }) =>
          html`<li class="${severity}">
            <h3>
              <span class="state">${words(severity)}</span> ${words(code)}
              ${lenderCode === null ? "" : html`<a href="${home}/lenders/${encodeURIComponent(lenderCode)}">${lenderCode}</a>`}
            </h3>
            <p>${detail}</p>
            <p>${remedy}</p>
          </li>`,
      )}
    </ul>`;
}

function queueTable(home: string, { queues }: Report): Html {
  const numbers = ["published", "delivered", "waiting", "retrying", "parked"] as const;
  return listTable({
    label: "Events by lender",
    items: queues,
    none: "There is no lender yet.",
    columns: [
      {
        label: "Lender",
        cell: ({ lenderCode }) => html`<a href="${home}/lenders/${encodeURIComponent(lenderCode)}">${lenderCode}</a>`,
      },
      { label: "Callback", cell: ({ state }) => html`<span class="state">${words(state)}</span>` },
      ...numbers.map((name) => ({
        label: words(name),
        isNumber: true,
        cell: (one: Report["queues"][number]) => countText(one[name]),
      })),
    ],
  });
}
