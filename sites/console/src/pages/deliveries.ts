import type { DeliveriesPage, DeliverySearch } from "../desk.ts";
import { type Html, html } from "../html.ts";
import type { PageContent } from "../page.ts";
import { countText, words } from "../words.ts";

const STATES = ["waiting", "in_flight", "retrying", "delivered", "parked"] as const;

/** Reads which deliveries to show from a query. Values that nothing can have do not restrict the page. */
export function deliverySearchOf(query: URLSearchParams): DeliverySearch {
  const lender = query.get("lender")?.trim();
  const before = query.get("before");
  return {
    lender: lender !== undefined && /^[A-Za-z0-9]{2,16}$/.test(lender) ? lender.toUpperCase() : undefined,
    state: STATES.find((state) => state === query.get("state")),
    before: before !== null && /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(before) ? before : undefined,
  };
}

/** Lists deliveries of events to lenders, newest first. */
export function deliveriesPage(home: string, search: DeliverySearch, found: DeliveriesPage): PageContent {
  const { lenderCodes, deliveries, next } = found;
  const options = (values: readonly string[], chosen: string | undefined, all: string) => [
    html`<option value="">${all}</option>`,
    ...values.map((value) =>
      value === chosen
        ? html`<option value="${value}" selected>${words(value)}</option>`
        : html`<option value="${value}">${words(value)}</option>`,
    ),
  ];
  return {
    title: "Deliveries",
    main: html`<h1>Deliveries</h1>
      <form method="get" action="${home}/deliveries" class="choice">
        ${
          lenderCodes.length < 2
            ? ""
            : html`<label for="lender">Lender</label>
                <select id="lender" name="lender">
                  <option value="">All</option>
                  ${lenderCodes.map((code) =>
                    code === search.lender ? html`<option selected>${code}</option>` : html`<option>${code}</option>`,
                  )}
                </select>`
        }
        <label for="state">State</label>
        <select id="state" name="state">
          ${options(STATES, search.state, "All")}
        </select>
        <button type="submit" class="plain">Show</button>
      </form>
      ${deliveries.length === 0 ? html`<p role="status">No delivery matches.</p>` : listOf(home, deliveries)}
      ${next === null ? "" : html`<p><a href="${home}/deliveries?${nextQuery(search, next)}">Older deliveries</a></p>`}`,
  };
}

function nextQuery({ lender, state }: DeliverySearch, before: string): string {
  return new URLSearchParams({ ...(lender && { lender }), ...(state && { state }), before }).toString();
}

function listOf(home: string, deliveries: DeliveriesPage["deliveries"]): Html {
  return html`<section class="panel">
    <ol class="timeline">
      ${deliveries.map(
        ({ eventId, lenderCode, kind, sourceLoanNumber, state, attempts, lastError, createdAt }) =>
          html`<li>
            <span class="at">${createdAt}</span>
            <a href="${home}/deliveries/${encodeURIComponent(eventId)}">${kind}</a>
            <span
              >${[
                `${lenderCode} ${sourceLoanNumber}`,
                words(state),
                attempts === 1 ? "1 attempt" : `${countText(attempts)} attempts`,
                lastError,
              ]
                .filter(Boolean)
                .join(" · ")}</span
            >
          </li>`,
      )}
    </ol>
  </section>`;
}
