import { grouped } from "@collections/money";
import { scaleLinear } from "d3-scale";
import { type Html, html } from "../html.ts";
import type { Outstanding, OutstandingInCurrency } from "../reads/figures.ts";
import { amountsText, countText } from "../words.ts";

const widthOf = scaleLinear().domain([0, 1]).range([0, 100]);

/** Draws the outstanding amounts of the ranges of days past due, as a table with bars for each currency. */
export function ageTables(outstanding: Outstanding | undefined): Html {
  return html`<section class="panel">
    <h2 id="outstanding">Outstanding by days past due</h2>
    ${outstanding === undefined ? html`<p>The cases are being counted. Open the page again in a few seconds.</p>` : tables(outstanding)}
  </section>`;
}

function tables({ at, currencies }: Outstanding): Html {
  if (currencies.length === 0) return html`<p>No case is open.</p>`;
  return html`${currencies.map(ageTable)}
    <p class="about">
      All open cases, as of ${at}. They are counted again once a minute, or less often if there are many.
    </p>`;
}

function ageTable({ currency, cases, amount, ages }: OutstandingInCurrency): Html {
  return html`<table class="bars ages" aria-label="Outstanding by days past due in ${currency}">
    <thead>
      <tr>
        <th scope="col">Days past due</th>
        <th scope="col">Cases</th>
        <th scope="col">${currency}</th>
        <th scope="col">Share</th>
      </tr>
    </thead>
    <tbody>
      ${ages.map(
        (one) =>
          html`<tr>
            <th scope="row">
              <div class="bar"><span>${ageLabel(one.age)}</span>${bar(one.size)}</div>
            </th>
            <td data-label="Cases">${countText(one.cases)}</td>
            <td data-label="${currency}">${grouped(one.amount, currency)}</td>
            <td data-label="Share">${one.percent} %</td>
          </tr>`,
      )}
    </tbody>
    <tfoot>
      <tr>
        <th scope="row">All</th>
        <td data-label="Cases">${countText(cases)}</td>
        <td colspan="2">${amountsText([{ amount, currency }])}</td>
      </tr>
    </tfoot>
  </table>`;
}

function bar(size: number): Html {
  return html`<svg aria-hidden="true" width="100%" height="14">
    <rect class="now" width="${widthOf(size).toFixed(2)}%" height="14" rx="2"></rect>
  </svg>`;
}

function ageLabel(age: string | null): string {
  if (age === null) return "Unknown";
  return age === "90+" ? "Over 90" : age.replace("-", "–");
}
