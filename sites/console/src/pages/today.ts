import { ageTables } from "../charts/age-chart.ts";
import { barTable, type BarRow } from "../charts/bar-table.ts";
import { funnelTable } from "../charts/funnel.ts";
import { hourChart } from "../charts/hour-chart.ts";
import type { Figures, FiguresPage, OneDay, Sum } from "../reads/figures.ts";
import { type Html, html } from "../html.ts";
import type { PageContent } from "../page.ts";
import { amountsText, countText, dayText, sumText, words } from "../words.ts";

/** The figures of a lender's day beside those of the day before. */
export function todayPage(home: string, { lenderCodes, figures }: FiguresPage): PageContent {
  return {
    title: "Today",
    main: html`<div class="head">
        <h1>Today</h1>
        ${lenderChoice(home, lenderCodes, figures)}
      </div>
      ${figures ? figuresOf(figures) : html`<p>${lenderCodes.length === 0 ? "There is no lender yet." : "There is no such lender."}</p>`}`,
  };
}

function lenderChoice(home: string, codes: readonly string[], figures: Figures | undefined): Html {
  if (codes.length < 2 && figures) return html`<p class="chosen">${figures.lenderCode}</p>`;
  if (codes.length === 0) return html``;
  const options = codes.map((code) =>
    code === figures?.lenderCode ? html`<option selected>${code}</option>` : html`<option>${code}</option>`,
  );
  return html`<form method="get" action="${home}" class="choice">
    <label for="lender">Lender</label>
    <select id="lender" name="lender">
      ${options}
    </select>
    <button type="submit" class="plain">Show</button>
  </form>`;
}

function figuresOf({ lenderCode, day, dayBefore, timeZone, unassignedCases, endpoints, ...charts }: Figures): Html {
  const days = daysOf(day, dayBefore);
  const { suspended, failing } = endpoints;
  const unhealthy = suspended + failing;
  const beside = (of: (one: OneDay) => string) => `${of(dayBefore)} the day before`;
  const payments = (one: OneDay) => countText(one.payments.count);
  const visits = (one: OneDay) => countText(one.visits.count);
  const people = (one: OneDay) => countText(one.activeFieldPartners);
  const collected = (one: OneDay) => sumTile(one.payments);
  return html`<p class="about">${lenderCode}, ${dayText(day.day)} in ${timeZone}, beside ${dayText(dayBefore.day)}.</p>
    <ul class="tiles">
      ${tile("Collected", collected(day), beside(collected))} ${tile("Payments", payments(day), beside(payments))}
      ${tile("Visits", visits(day), beside(visits))} ${tile("Active field partners", people(day), beside(people))}
      ${tile("Unassigned cases", `${countText(unassignedCases.count)}${unassignedCases.isComplete ? "" : " or more"}`, `open, ${unassignedCases.at === null ? "now" : `as of ${unassignedCases.at}`}`)}
      ${tile("Unhealthy endpoints", `${unhealthy} of ${endpoints.endpoints}`, `${suspended} suspended, ${failing} failing`, unhealthy > 0)}
    </ul>
    <div class="panels">
      <div>
        ${hourChart({ days, hours: charts.hours })} ${funnelTable({ days, ...charts.funnel })}
        ${barTable({ caption: "Work of the day", days, rows: workRows(day, dayBefore) })}
      </div>
      <div>${ageTables(charts.outstanding)} ${moneyTable(day, dayBefore)} ${visitsPanel(day, dayBefore)}</div>
    </div>`;
}

function daysOf(day: OneDay, before: OneDay): [string, string] {
  return [dayText(day.day), dayText(before.day)];
}

function tile(label: string, value: string, note: string, isWarning = false): Html {
  return html`<li class="${isWarning ? "tile warn" : "tile"}">
    <span>${label}</span> <b>${value}</b> <small>${note}</small>
  </li>`;
}

function workRows(day: OneDay, before: OneDay): BarRow[] {
  const row = (label: string, of: (one: OneDay) => number): BarRow => ({ label, values: [of(day), of(before)] });
  return [
    row("Payments", ({ payments }) => payments.count),
    row("Reversals", ({ reversals }) => reversals.count),
    row("Visits", ({ visits }) => visits.count),
    row("Promises due", ({ promises }) => promises.due),
    row("Promises kept", ({ promises }) => promises.kept),
    row("Promises broken", ({ promises }) => promises.broken),
    row("Links requested", ({ paymentLinks }) => paymentLinks.requested),
    row("Links minted", ({ paymentLinks }) => paymentLinks.minted),
    row("Links unavailable", ({ paymentLinks }) => paymentLinks.unavailable),
  ];
}

function visitsPanel(day: OneDay, before: OneDay): Html {
  const [now, then] = [day.visits.byDisposition, before.visits.byDisposition];
  const seen = [...new Set([...Object.keys(now), ...Object.keys(then)])];
  const rows = seen.map((one): BarRow => ({ label: words(one), values: [now[one] ?? 0, then[one] ?? 0] }));
  const caption = "Visits by outcome";
  if (rows.length === 0)
    return html`<section class="panel">
      <h2>${caption}</h2>
      <p class="empty">No visit ended on these two days.</p>
    </section>`;
  return barTable({ caption, days: daysOf(day, before), rows });
}

function moneyTable(day: OneDay, before: OneDay): Html {
  const rows = (["payments", "reversals", "deductions", "excess"] as const).map(
    (name) =>
      html`<tr>
        <th scope="row">${words(name)}</th>
        ${[day, before].map((one) => html`<td data-label="${dayText(one.day)}">${sumText(one[name])}</td>`)}
      </tr>`,
  );
  return html`<section class="panel">
    <h2 id="money">Money</h2>
    <table aria-labelledby="money">
      <thead>
        <tr>
          <td></td>
          <th scope="col">${dayText(day.day)}</th>
          <th scope="col">${dayText(before.day)}</th>
        </tr>
      </thead>
      <tbody>
        ${rows}
        <tr>
          <th scope="row">Reconciliations</th>
          ${[day, before].map((one) => html`<td data-label="${dayText(one.day)}">${reconciliationText(one.reconciliations)}</td>`)}
        </tr>
      </tbody>
    </table>
    <p class="about">Excess is the part of the payments beyond what was owed.</p>
  </section>`;
}

function reconciliationText({ windows, differences }: OneDay["reconciliations"]): string {
  if (windows === 0) return "0";
  return `${countText(windows)}: ${countText(differences)} ${differences === 1 ? "difference" : "differences"}`;
}

function sumTile({ amounts }: Sum): string {
  return amounts.length === 0 ? "0" : amountsText(amounts);
}
