import { type Html, html } from "./html.ts";

/** A column of a list. */
export interface Column<Item> {
  readonly label: string;
  /** Whether the cells are numbers, which stand at the right. */
  readonly isNumber?: boolean;
  /** Whether the cells are times or codes, which are not broken on a wide screen. */
  readonly isShort?: boolean;
  /** Whether the column is left out if no item has a value in it. */
  readonly isOptional?: boolean;
  readonly cell: (item: Item) => Html | string;
  /** A link that sorts by the column, which stands in its head, and how the list is sorted by it now. */
  readonly sort?: { readonly link: Html; readonly direction: "ascending" | "descending" | "none" };
}

/** A list as a table. */
export interface ListTable<Item> {
  /** The name of the table for screen readers. */
  readonly label: string;
  /** The first column names the row. */
  readonly columns: readonly Column<Item>[];
  readonly items: readonly Item[];
  /** The text to show if there are no items. */
  readonly none: string;
}

/** Returns a table. On a narrow screen each row becomes a card, whose cells show the labels of their columns. */
export function listTable<Item>({ label, columns, items, none }: ListTable<Item>): Html {
  if (items.length === 0) return html`<p role="status" class="empty">${none}</p>`;
  const shown = columns.filter(({ isOptional, cell }) => !isOptional || items.some((item) => cell(item) !== "–"));
  const [first, ...others] = shown;
  const kind = ({ isNumber, isShort }: Column<Item>) => (isNumber ? "number" : isShort ? "short" : "text");
  return html`<table class="list" aria-label="${label}">
    <thead>
      <tr>
        ${shown.map((column) =>
          column.sort
            ? html`<th scope="col" class="${kind(column)} sortable" aria-sort="${column.sort.direction}">
                ${column.sort.link}
              </th>`
            : html`<th scope="col" class="${kind(column)}">${column.label}</th>`,
        )}
      </tr>
    </thead>
    <tbody>
      ${items.map(
        (item) =>
          html`<tr>
            <th scope="row">${first!.cell(item)}</th>
            ${others.map((column) => {
              const cell = column.cell(item);
              // A card leaves out what has no value.
              const none = cell === "–" ? " none" : "";
              return html`<td class="${kind(column)}${none}" data-label="${column.label}">${cell}</td>`;
            })}
          </tr>`,
      )}
    </tbody>
  </table>`;
}

/** A page of the console. */
export interface PagePath {
  /** The path of the console. */
  readonly home: string;
  /** The path of the page below the console. */
  readonly path: string;
}

/**
 * Returns the filters of a list. A narrow screen shows only a line with the names of those that are set, until the line is
 * opened: so the first rows of the list are seen.
 *
 * @param lender the lender of the list, if there are several; it is no filter that can be cleared
 * @param set the filters that restrict the list, in words; empty texts are left out
 * @param clear the query of the page without filters
 */
export function filters(
  { home, path }: PagePath,
  {
    lender,
    set,
    clear,
  }: {
    readonly lender?: string | undefined;
    readonly set: readonly (string | false | undefined)[];
    readonly clear: string;
  },
  content: Html,
): Html {
  const names = [lender, ...set].filter(Boolean).join(", ");
  return html`<details class="filters">
    <summary>Filters${names === "" ? "" : html`: <span>${names}</span>`}</summary>
    <div>
      ${content}
      ${set.some(Boolean) ? html`<p class="clear"><a href="${home}${path}?${clear}">Clear the filters</a></p>` : ""}
    </div>
  </details>`;
}

/** Returns the choices of a filter as links. `queryOf` returns the query of the page with a choice, or without one. */
export function choices(
  { home, path }: PagePath,
  filter: {
    readonly label: string;
    /** The label of no choice, by default All; null if there has to be a choice. */
    readonly all?: string | null;
    readonly chosen: string | undefined;
    readonly options: readonly (readonly [value: string, label: string])[];
    /** The number of items of each option, if it is known, such as `1,000+`. */
    readonly counts?: Readonly<Record<string, string>> | undefined;
    readonly queryOf: (value: string | undefined) => string;
  },
): Html {
  const { label, all = "All", chosen, options, counts = {}, queryOf } = filter;
  const countOf = (value: string | undefined) =>
    value !== undefined && Object.hasOwn(counts, value) ? html` <small>${counts[value]!}</small>` : "";
  const link = (value: string | undefined, text: string) =>
    html`<a href="${home}${path}?${queryOf(value)}" aria-current="${value === chosen ? "true" : "false"}"
      >${text}${countOf(value)}</a
    >`;
  return html`<div class="choices" role="group" aria-label="${label}">
    <span aria-hidden="true">${label}</span>
    ${all === null ? "" : link(undefined, all)} ${options.map(([value, text]) => link(value, text))}
  </div>`;
}

/** Returns a link to the next page, or nothing on the last page. */
export function nextPage(
  { home, path }: PagePath,
  fields: Readonly<Record<string, string | null | undefined>>,
  label: string,
): Html {
  return html`<p class="more"><a href="${home}${path}?${queryText(fields)}">${label}</a></p>`;
}

/** Returns the fields that have a value as a query. */
export function queryText(fields: Readonly<Record<string, string | null | undefined>>): string {
  const given = Object.entries(fields).filter((field): field is [string, string] => Boolean(field[1]));
  return new URLSearchParams(given).toString();
}

/** Returns a field with the lenders to choose from. If there is only one lender, nothing has to be chosen. */
export function lenderField(codes: readonly string[], chosen: string | undefined): Html {
  const [only, ...others] = codes;
  if (only !== undefined && others.length === 0) return html`<input type="hidden" name="lender" value="${only}" />`;
  return html`<label for="lender">Lender</label>
    <select id="lender" name="lender">
      ${codes.map((code) =>
        code === chosen ? html`<option selected>${code}</option>` : html`<option>${code}</option>`,
      )}
    </select>`;
}

/** Returns a form that shows the page of another lender. Nothing if there is only one. */
export function lenderForm({ home, path }: PagePath, codes: readonly string[], chosen: string | undefined): Html {
  if (codes.length < 2) return html``;
  return html`<form method="get" action="${home}${path}" class="choice">
    ${lenderField(codes, chosen)}
    <button type="submit" class="plain">Show</button>
  </form>`;
}

/** Returns the code of the chosen lender if there are several lenders. */
export function several(codes: readonly string[], chosen: string | undefined): string | undefined {
  return codes.length > 1 ? chosen : undefined;
}

/** Returns a search field. */
export function textField(label: string, text: string | undefined): Html {
  return html`<label for="text">${label}</label>
    <input id="text" name="text" type="search" maxlength="200" autocomplete="off" value="${text ?? ""}" />`;
}

/** Returns names and values as a list. */
export function factList(facts: readonly (readonly [name: string, value: Html | string])[]): Html {
  return html`<dl class="facts">
    ${facts.map(
      ([name, value]) =>
        html`<div>
          <dt>${name}</dt>
          <dd>${value}</dd>
        </div>`,
    )}
  </dl>`;
}

/** Returns a text in which no day `YYYY-MM-DD` is broken at its hyphens. */
export function withWholeDays(text: string): Html {
  const parts = text.split(/\b(\d{4}-\d\d-\d\d)\b/);
  return html`${parts.map((part, index) => (index % 2 === 0 ? part : html`<span class="day">${part}</span>`))}`;
}

/** Returns whether a lender's callback is healthy, as a mark beside its heading. */
export function healthMark(isHealthy: boolean): Html {
  return html`<span class="${isHealthy ? "state" : "state bad"}">${isHealthy ? "Healthy" : "Needs attention"}</span>`;
}
