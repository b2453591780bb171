import type { DeliveriesPage, DeliverySearch } from "../desk.ts";
import { type Html, html } from "../html.ts";
import { filters, listTable, nextPage } from "../list-parts.ts";
import type { PageContent } from "../page.ts";
import { casePath, deliveryPath } from "../paths.ts";
import type { ListedDelivery } from "../reads/listed-delivery.ts";
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
  const { lenderCodes, deliveries, timeZone, next } = found;
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
      ${filters(
        { home, path: "/deliveries" },
        { set: [search.lender, search.state && words(search.state).toLowerCase()], clear: "" },
        html`<form method="get" action="${home}/deliveries" class="choice">
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
        </form>`,
      )}
      <p class="about">
        Newest first. ${timeZone === null ? "Times are those of each lender's time zone." : `Times in ${timeZone}.`}
      </p>
      ${deliveryTable(home, deliveries, { hasLender: lenderCodes.length > 1 })}
      ${next === null ? "" : nextPage({ home, path: "/deliveries" }, { ...search, before: next }, "Older deliveries")}`,
  };
}

/** Returns deliveries as a table. `hasLender`: whether a column names the lender. */
export function deliveryTable(
  home: string,
  deliveries: readonly ListedDelivery[],
  { hasLender }: { readonly hasLender: boolean },
): Html {
  return listTable({
    label: "Deliveries",
    items: deliveries,
    none: "No delivery matches. Choose another state or lender.",
    columns: [
      {
        label: "Event",
        cell: ({ kind, what, eventId }) =>
          html`<span class="short"><a href="${home}${deliveryPath(eventId)}">${what}</a></span> <small>${kind}</small>`,
      },
      ...(hasLender ? [{ label: "Lender", isShort: true, cell: ({ lenderCode }: ListedDelivery) => lenderCode }] : []),
      {
        label: "Loan",
        cell: ({ lenderCode, sourceLoanNumber: loan }) =>
          html`<a href="${home}${casePath(lenderCode, loan)}">${loan}</a>`,
      },
      { label: "Created", isShort: true, cell: ({ createdAt }) => createdAt },
      {
        label: "State",
        cell: ({ state }) => html`<span class="${state === "parked" ? "state bad" : "state"}">${words(state)}</span>`,
      },
      { label: "Attempts", isNumber: true, cell: ({ attempts }) => countText(attempts) },
      { label: "Last error", cell: errorOf },
    ],
  });
}

/** Returns the last error of a delivery. Its code stands below the sentence. */
function errorOf({ lastError }: ListedDelivery): Html | string {
  if (lastError === null) return "–";
  const { code, sentence } = lastError;
  return code === null ? sentence : html`${sentence} <small>${code}</small>`;
}
