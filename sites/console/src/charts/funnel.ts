import { scaleLinear } from "d3-scale";
import { type Html, html } from "../html.ts";
import type { Funnel } from "../reads/figures.ts";
import { countText } from "../words.ts";
import { bars, headOfDays } from "./bar-table.ts";

const STEPS: readonly (readonly [label: string, step: keyof Funnel])[] = [
  ["Visits", "visits"],
  ["With a link", "withLink"],
  ["Link sent", "withSentLink"],
  ["Link paid", "withPaidLink"],
];

/** Draws how many visits of two days led to a link, to a message and to a payment, as a table with bars. */
export function funnelTable({
  days,
  day,
  dayBefore,
}: {
  readonly days: readonly [string, string];
  readonly day: Funnel;
  readonly dayBefore: Funnel;
}): Html {
  const most = Math.max(1, ...STEPS.flatMap(([, step]) => [day[step], dayBefore[step]]));
  const widthOf = scaleLinear().domain([0, most]).range([0, 100]);
  return html`<section class="panel">
    <h2 id="funnel">From visit to payment</h2>
    <table class="bars" aria-labelledby="funnel">
      ${headOfDays(days)}
      <tbody>
        ${STEPS.map(([label, step]) => {
          const values = [day[step], dayBefore[step]];
          return html`<tr>
            <th scope="row">
              <div class="bar">
                <span>${label}</span>${values.some((value) => value > 0) ? bars(values.map(widthOf)) : ""}
              </div>
            </th>
            ${[day, dayBefore].map((one, index) => html`<td data-label="${days[index]!}">${countText(one[step])}${shareOf(one, step)}</td>`)}
          </tr>`;
        })}
      </tbody>
    </table>
    <p class="about">Visits that started on the day, and what has become of their links until now.</p>
  </section>`;
}

/** Returns the part of the visits in percent. A link of the first minutes of a day may belong to a visit of the day before. */
function shareOf(funnel: Funnel, step: keyof Funnel): Html {
  // Without a visit no cell of the column has a percentage, so none needs the space.
  if (funnel.visits === 0) return html``;
  if (step === "visits") return html` <small></small>`;
  return html` <small>${Math.round((funnel[step] * 100) / funnel.visits)} %</small>`;
}
