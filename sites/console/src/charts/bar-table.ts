import { scaleLinear } from "d3-scale";
import { type Html, html } from "../html.ts";
import { countText } from "../words.ts";

/** A row of a chart: a number of the day, and one of the day before. */
export interface BarRow {
  readonly label: string;
  readonly values: readonly [number, number];
}

/** A chart of two days that is also a table. */
export interface BarTable {
  readonly caption: string;
  readonly days: readonly [string, string];
  readonly rows: readonly BarRow[];
}

/**
 * Draws the rows as a table with a pair of bars in each row. Screen readers read the numbers. The bars are SVG whose widths
 * are percentages, so that they fit every screen.
 */
export function barTable({ caption, days, rows }: BarTable): Html {
  const most = Math.max(1, ...rows.flatMap(({ values }) => values));
  const widthOf = scaleLinear().domain([0, most]).range([0, 100]);
  const id = caption.toLowerCase().replaceAll(/[^a-z]+/g, "-");
  return html`<section class="panel">
    <h2 id="${id}">${caption}</h2>
    <table class="bars" aria-labelledby="${id}">
      ${headOfDays(days)}
      <tbody>
        ${rows.map(
          ({ label, values }) =>
            html`<tr>
              <th scope="row">
                <div class="bar">
                  <span>${label}</span>${values.some((value) => value > 0) ? bars(values.map(widthOf)) : ""}
                </div>
              </th>
              <td data-label="${days[0]}">${countText(values[0])}</td>
              <td data-label="${days[1]}">${countText(values[1])}</td>
            </tr>`,
        )}
      </tbody>
    </table>
  </section>`;
}

/** Returns the head of a table with a column for each of two days. */
export function headOfDays(days: readonly [string, string]): Html {
  return html`<thead>
    <tr>
      <td></td>
      <th scope="col"><span class="key now"></span>${days[0]}</th>
      <th scope="col"><span class="key then"></span>${days[1]}</th>
    </tr>
  </thead>`;
}

/** Draws a bar for the day, and a thin one for the day before. The widths are percentages. */
export function bars([now = 0, then = 0]: readonly number[]): Html {
  return html`<svg aria-hidden="true" width="100%" height="20">
    <rect class="now" width="${now.toFixed(2)}%" height="11" rx="2"></rect>
    <rect class="then" y="13" width="${then.toFixed(2)}%" height="5" rx="2"></rect>
  </svg>`;
}
