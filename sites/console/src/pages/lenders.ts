import { type Html, html } from "../html.ts";
import { factList, healthMark, listTable, nextPage, queryText } from "../list-parts.ts";
import type { PageContent } from "../page.ts";
import { connectionPath } from "../paths.ts";
import type { LendersPage, LenderView } from "../reads/lenders.ts";
import { countText, words } from "../words.ts";
import { deliveryTable } from "./deliveries.ts";
import { messagePage } from "./message.ts";

/** The lenders by code. */
export function lendersPage(home: string, { lenders, next }: LendersPage): PageContent {
  return {
    title: "Lenders",
    main: html`<h1>Lenders</h1>
      ${listTable({
        label: "Lenders",
        items: lenders,
        none: "There is no lender yet. The command lender create makes one.",
        columns: [
          {
            label: "Lender",
            cell: ({ lenderCode, name }) =>
              html`<a href="${home}/lenders/${lenderCode}">${name}</a> <small>${lenderCode}</small>`,
          },
          { label: "State", cell: ({ state }) => html`<span class="state">${words(state)}</span>` },
          { label: "Currency", cell: ({ currency }) => currency },
          { label: "Commission", isNumber: true, cell: ({ commissionPercent }) => `${commissionPercent} %` },
          { label: "Time zone", cell: ({ timeZone }) => timeZone },
        ],
      })}
      ${next === null ? "" : nextPage({ home, path: "/lenders" }, { after: next }, "Next page")}`,
  };
}

/** One lender: its onboarding, its callback, and its deliveries. */
export function lenderPage(home: string, view: LenderView): PageContent {
  const { lenderCode, name, state, timeZone, onboarding, facts, next } = view;
  const done = onboarding.filter(({ isDone }) => isDone).length;
  return {
    title: name,
    section: "Lenders",
    main: html`<h1>${name} <span class="state">${words(state)}</span></h1>
      <p class="about">
        ${lenderCode}. Times in ${timeZone}.
        <a href="${home}/cases?${queryText({ lender: lenderCode })}">Cases</a>
        <a href="${home}${connectionPath(lenderCode)}">Connection</a>
      </p>
      <div class="panels">
        <section class="panel">
          <h2>Onboarding</h2>
          <p class="about">${done} of ${onboarding.length} steps</p>
          <ul class="steps">
            ${onboarding.map(
              ({ step, isDone }) =>
                html`<li class="${isDone ? "is-done" : "is-open"}">
                  <span>${step}</span> <span class="state">${isDone ? "Done" : "Not yet"}</span>
                </li>`,
            )}
          </ul>
        </section>
        <section class="panel">
          <h2>Settings</h2>
          ${factList(facts)}
        </section>
        ${endpointPanel(view)} ${fallbackPanel(view)}
      </div>
      <section class="panel">
        <h2>Deliveries</h2>
        ${deliveryTable(home, view.deliveries, { hasLender: false })}
        ${next === null ? "" : nextPage({ home, path: `/lenders/${lenderCode}` }, { before: next }, "Older deliveries")}
      </section>`,
  };
}

/** The page for a code that no lender has. */
export function noLenderPage(): PageContent {
  return messagePage("Lender not found", "There is no such lender. The page Lenders lists all of them.");
}

function endpointPanel({ endpoint, lastFailure }: LenderView): Html {
  if (!endpoint)
    return html`<section class="panel">
      <h2>Callback</h2>
      <p class="empty">No callback is registered.</p>
    </section>`;
  const isBad = endpoint.state === "suspended" || endpoint.consecutiveFailures > 0;
  const times: readonly (readonly [string, string | null])[] = [
    ["Failing since", endpoint.failingSince],
    ["Suspended since", endpoint.suspendedAt],
    ["Next probe", endpoint.nextProbeAt],
  ];
  return html`<section class="panel">
    <h2>Callback ${healthMark(!isBad)}</h2>
    ${factList([
      ["URL", endpoint.url ?? "None"],
      ["State", words(endpoint.state)],
      ["Failures in a row", countText(endpoint.consecutiveFailures)],
      ["Events waiting", countText(endpoint.waiting)],
      ["Events parked", countText(endpoint.parked)],
      ...times.filter((time): time is [string, string] => time[1] !== null),
    ])}
    ${
      lastFailure
        ? html`<div class="failure">
            <h3>Last failure</h3>
            <p class="about">${lastFailure.at}, ${lastFailure.eventId}: ${lastFailure.what}</p>
            <p><b>Cause:</b> ${lastFailure.cause}</p>
            <p><b>Remedy:</b> ${lastFailure.remedy}</p>
          </div>`
        : ""
    }
  </section>`;
}

function fallbackPanel({ fallback: { upiId, bank, instructions, code } }: LenderView): Html {
  if (upiId === null && bank === null && instructions === null)
    return html`<section class="panel">
      <h2>Payment without a link</h2>
      <p class="empty">The lender has registered neither a QR code nor a bank account.</p>
    </section>`;
  return html`<section class="panel">
    <h2>Payment without a link</h2>
    ${code === null ? "" : qrCode(code)}
    ${factList([
      ["UPI id", upiId ?? "None"],
      ["Bank", bank ?? "None"],
      ["Instructions", instructions ?? "None"],
    ])}
  </section>`;
}

function qrCode({ modules, path }: { readonly modules: number; readonly path: string }): Html {
  return html`<svg
    class="code"
    role="img"
    aria-label="QR code of the fallback"
    viewBox="0 0 ${modules} ${modules}"
    width="160"
    height="160"
  >
    <rect width="100%" height="100%" fill="#fff"></rect>
    <path d="${path}" fill="#000"></path>
  </svg>`;
}
