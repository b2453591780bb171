import { type Html, html } from "../html.ts";
import { choices, filters, lenderField, listTable, nextPage, queryText, several } from "../list-parts.ts";
import type { PageContent } from "../page.ts";
import type { RequestsPage, RequestsSearch } from "../reads/requests.ts";
import { countText } from "../words.ts";

type Row = RequestsPage["requests"][number];

/** Reads the filters from a query. The desk ignores values that it does not know. */
export function requestsSearchOf(query: URLSearchParams): RequestsSearch {
  const field = (name: string) => query.get(name)?.trim().slice(0, 200) || undefined;
  return { lender: field("lender"), result: field("result"), path: field("path"), before: field("before") };
}

/** The requests of a lender to the REST API, the latest first. */
export function requestsPage(home: string, { path }: RequestsSearch, page: RequestsPage): PageContent {
  const { lenderCodes, lenderCode, timeZone, onlyFailed, next, isFull } = page;
  const at = { home, path: "/requests" };
  const result = onlyFailed ? "failed" : undefined;
  const kept = { lender: lenderCode, path };
  return {
    title: "Requests",
    section: "Connection",
    main: html`<h1>Requests</h1>
      ${filters(
        at,
        {
          lender: several(lenderCodes, lenderCode),
          set: [path !== undefined && `“${path}”`, result],
          clear: queryText({ lender: lenderCode }),
        },
        html`<form method="get" action="${home}/requests" class="choice">
            ${lenderField(lenderCodes, lenderCode)}
            <label for="path">Path contains</label>
            <input id="path" name="path" type="search" maxlength="200" autocomplete="off" value="${path ?? ""}" />
            ${result === undefined ? "" : html`<input type="hidden" name="result" value="${result}" />`}
            <button type="submit" class="plain">Show</button>
          </form>
          ${choices(at, {
            label: "Result",
            chosen: result,
            options: [["failed", "Failed"]],
            queryOf: (one) => queryText({ ...kept, result: one }),
          })}`,
      )}
      ${lenderCode === undefined ? html`<p role="status" class="empty">There is no such lender.</p>` : listOf(home, page, timeZone)}
      ${next === null ? "" : nextPage(at, { ...kept, result, before: next }, isFull ? "Earlier" : "Continue the search")}`,
  };
}

function listOf(home: string, { requests, next }: RequestsPage, timeZone: string): Html {
  const none =
    next === null
      ? "No request of the last seven days matches."
      : "No request matches so far. Continue the search to see more.";
  return html`<p class="about">
      Requests of the last seven days to the REST API, without bodies and query strings. Times in ${timeZone}. A wrong
      signature?
      <a href="${home}/requests/debugger">Check it in the signature debugger</a>.
    </p>
    ${listTable({
      label: "Requests",
      items: requests,
      none,
      columns: [
        {
          label: "Request",
          cell: ({ method, path, requestId }) => html`<code>${method} ${path}</code> <small>${requestId}</small>`,
        },
        { label: "Answer", isShort: true, cell: (row) => answerOf(home, row) },
        { label: "Time", isShort: true, cell: ({ receivedAt }) => receivedAt },
        { label: "Took", isNumber: true, cell: ({ durationMs }) => `${countText(durationMs)} ms` },
        {
          label: "Key",
          isShort: true,
          cell: ({ keyId, isSigned }) => html`${keyId} ${isSigned ? "" : html`<small>Signature not verified</small>`}`,
        },
      ],
    })}`;
}

function answerOf(home: string, { status, code, isSigned }: Row): Html {
  const kind = status >= 400 ? "state bad" : "state";
  // An unsigned request was refused before its content was read, so the debugger is what helps.
  const about = code !== null && !isSigned ? html`<a href="${home}/requests/debugger">${code}</a>` : code;
  return html`<span class="${kind}">${status}</span> ${code === null ? "" : html`<small>${about}</small>`}`;
}
