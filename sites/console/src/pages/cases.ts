import type { ConsoleOperator } from "../access.ts";
import { type Html, html } from "../html.ts";
import { choices, filters, lenderField, listTable, nextPage, queryText, several, textField } from "../list-parts.ts";
import type { PageContent } from "../page.ts";
import { casePath, personPath } from "../paths.ts";
import type { CaseOrder, CasesPage, CasesSearch } from "../reads/cases.ts";
import { amountsText, dayText, words } from "../words.ts";

const ORDER_LABELS: Readonly<Record<CaseOrder, string>> = {
  newest: "Newest import",
  loan: "Loan number, ascending",
  "loan-descending": "Loan number, descending",
};

/** Reads the filters from a query. The desk ignores values that it does not know. */
export function casesSearchOf(query: URLSearchParams): CasesSearch {
  const field = (name: string) => query.get(name)?.trim().slice(0, 200) || undefined;
  return {
    lender: field("lender"),
    status: field("status"),
    holder: field("holder"),
    dpd: field("dpd"),
    promise: field("promise"),
    text: field("text"),
    order: field("order"),
    after: field("after"),
  };
}

/** The cases of a lender, with filters. */
export function casesPage(
  home: string,
  search: CasesSearch,
  { page, operator }: { readonly page: CasesPage; readonly operator: ConsoleOperator },
): PageContent {
  const { lenderCodes, lenderCode, order } = page;
  const at = { home, path: "/cases" };
  const { after: _, ...kept } = { ...search, lender: lenderCode, order };
  return {
    title: "Cases",
    main: html`<h1>Cases</h1>
      ${
        operator.roles.includes("operator") && lenderCode !== undefined
          ? html`<p class="acts">
              <a href="${home}/cases/spread?${queryText({ lender: lenderCode })}">Spread unassigned cases</a>
            </p>`
          : ""
      }
      ${filters(
        at,
        {
          lender: several(lenderCodes, lenderCode),
          set: filtersSet(search, page),
          clear: queryText({ lender: lenderCode }),
        },
        filterFields(home, search, page),
      )}
      ${lenderCode === undefined ? noLender(lenderCodes) : tableOf(home, page, { operator, kept })}
      ${page.next === null ? "" : nextPage(at, { ...kept, after: page.next }, page.isFull ? "Next page" : "Continue the search")}`,
  };
}

/** Returns the filters that restrict the page, in words. */
function filtersSet({ status, dpd, holder, promise, text }: CasesSearch, page: CasesPage): (string | false)[] {
  const { statuses, dpds, order } = page;
  return [
    text !== undefined && `“${text}”`,
    promise !== undefined && `promise due on ${promise}`,
    ...statuses.filter((one) => one === status).map((one) => words(one).toLowerCase()),
    ...dpds.filter((one) => one === dpd).map((one) => `${one} days past due`),
    ...holderOptions(holder, page)
      .filter(([one]) => one === holder)
      .map(([, label]) => label),
    order !== undefined && ORDER_LABELS[order].toLowerCase(),
  ];
}

function filterFields(home: string, search: CasesSearch, page: CasesPage): Html {
  const { lenderCodes, lenderCode, statuses, dpds, counts, orders, order } = page;
  const at = { home, path: "/cases" };
  const { after: _, ...kept } = { ...search, lender: lenderCode, order };
  return html`<form method="get" action="${home}/cases" class="choice">
      ${lenderField(lenderCodes, lenderCode)} ${textField("Loan or name", search.text)}
      <label for="promise">Promise due on</label>
      <input id="promise" name="promise" type="date" value="${search.promise ?? ""}" />
      ${(["status", "dpd", "holder", "order"] as const).map((name) =>
        search[name] === undefined ? "" : html`<input type="hidden" name="${name}" value="${search[name]}" />`,
      )}
      <button type="submit" class="plain">Show</button>
    </form>
    ${choices(at, {
      label: "Status",
      chosen: search.status,
      options: statuses.map((status) => [status, words(status)]),
      counts: counts?.statuses,
      queryOf: (status) => queryText({ ...kept, status }),
    })}
    ${choices(at, {
      label: "Days past due",
      chosen: search.dpd,
      options: dpds.map((dpd) => [dpd, words(dpd)]),
      counts: counts?.dpds,
      queryOf: (dpd) => queryText({ ...kept, dpd }),
    })}
    ${choices(at, {
      label: "Field partner",
      chosen: search.holder,
      options: holderOptions(search.holder, page),
      counts: counts?.holders,
      queryOf: (holder) => queryText({ ...kept, holder }),
    })}
    ${
      orders.length === 0
        ? ""
        : choices(at, {
            label: "Order",
            all: "Oldest import",
            chosen: order,
            options: orders.map((one) => [one, ORDER_LABELS[one]]),
            queryOf: (one) => queryText({ ...kept, order: one }),
          })
    }`;
}

/** Returns the choices of field partners: none, and the one who is chosen. */
function holderOptions(holder: string | undefined, { cases }: CasesPage): [string, string][] {
  const nobody: [string, string] = ["none", "Unassigned"];
  if (holder === undefined || holder === "none") return [nobody];
  const name = cases.find(({ fieldPartnerId }) => fieldPartnerId === holder)?.fieldPartnerName;
  return [nobody, [holder, name ?? "One field partner"]];
}

function noLender(codes: readonly string[]): Html {
  return html`<p role="status" class="empty">
    ${codes.length === 0 ? "There is no lender yet." : "There is no such lender."}
  </p>`;
}

function tableOf(
  home: string,
  { cases, timeZone, next, order, orders }: CasesPage,
  {
    operator,
    kept,
  }: { readonly operator: ConsoleOperator; readonly kept: Readonly<Record<string, string | undefined>> },
): Html {
  const staffOf = operator.lenderCode;
  const loanOrder = order === "loan" ? "loan-descending" : "loan";
  const none =
    next === null
      ? "No case matches. Choose All in a filter, or another lender."
      : "No case matches so far. Continue the search to see more.";
  return html`<p class="about">Times in ${timeZone}.</p>
    ${listTable({
      label: "Cases",
      items: cases,
      none,
      columns: [
        {
          label: "Borrower",
          cell: ({ lenderCode, sourceLoanNumber, borrowerName }) =>
            html`<a href="${home}${casePath(lenderCode, sourceLoanNumber)}">${borrowerName || "Erased"}</a>`,
        },
        {
          label: "Loan",
          cell: ({ sourceLoanNumber }) => sourceLoanNumber,
          ...(orders.length > 0 && {
            sort: {
              link: html`<a href="${home}/cases?${queryText({ ...kept, order: loanOrder })}">Loan</a>`,
              direction: order === "loan" ? "ascending" : order === "loan-descending" ? "descending" : "none",
            },
          }),
        },
        { label: "Status", cell: ({ status }) => html`<span class="state">${words(status)}</span>` },
        {
          label: "Outstanding",
          isNumber: true,
          cell: ({ outstandingAmount: amount, currency }) => amountsText([{ amount, currency }]),
        },
        { label: "Days past due", isNumber: true, cell: ({ dpd }) => (dpd === null ? "–" : String(dpd)) },
        {
          label: "Field partner",
          cell({ fieldPartnerId: id, fieldPartnerName: name }) {
            if (id === null) return "Nobody";
            // A lender's staff sees no page of a field partner.
            return staffOf === null ? html`<a href="${home}${personPath(id)}">${name ?? id}</a>` : (name ?? id);
          },
        },
        { label: "Promise", isShort: true, cell: ({ promiseDueOn: day }) => (day === null ? "–" : dayText(day)) },
        { label: "Last visit", isShort: true, cell: ({ lastVisit }) => lastVisit ?? "–" },
      ],
    })}`;
}
