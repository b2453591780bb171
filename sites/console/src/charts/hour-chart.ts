import { type ScaleBand, type ScaleLinear, scaleBand, scaleLinear } from "d3-scale";
import { type Html, html } from "../html.ts";
import type { HourOfDays, Sum } from "../reads/figures.ts";
import { countText, sumText } from "../words.ts";

/** The payments of the hours of two days. */
export interface HourChart {
  readonly days: readonly [string, string];
  readonly hours: readonly HourOfDays[];
}

/** The number of lines that the scale of numbers has, about. */
const TICKS = 4;

/**
 * Draws the payments of each hour: a bar for the day, and a line with steps for the day before. The coordinates are
 * percentages, so that the chart fits every screen. The same numbers follow as a table.
 */
export function hourChart({ days, hours }: HourChart): Html {
  const most = Math.max(0, ...hours.flatMap(({ day, dayBefore }) => [countOf(day), countOf(dayBefore)]));
  return html`<section class="panel">
    <h2 id="payments-by-hour">Payments by hour</h2>
    ${most === 0 ? html`<p>No payment was booked on these two days.</p>` : html`${plot(days, hours, most)}${table(days, hours)}`}
  </section>`;
}

function plot(days: HourChart["days"], hours: readonly HourOfDays[], most: number): Html {
  const height = scaleLinear().domain([0, most]).nice(TICKS).range([100, 0]);
  const places = hours.map((_, place) => place);
  const band = scaleBand<number>().domain(places).range([0, 100]).paddingInner(0.25).paddingOuter(0.125);
  const ticks = height.ticks(TICKS).filter((tick) => tick > 0 && Number.isInteger(tick));
  return html`<p class="keys" aria-hidden="true">
      <span><span class="key now"></span>${days[0]}</span> <span><span class="key line"></span>${days[1]}</span>
    </p>
    <svg class="plot" role="img" aria-label="${summary(days, hours)}" width="100%">
      ${ticks.map((tick) => gridLine(height(tick)))} ${hours.map((hour, place) => bar(hour, { place, band, height }))}
      <svg viewBox="0 0 100 100" preserveAspectRatio="none" width="100%" height="100%">
        <path class="halo" d="${steps(hours, { band, height })}" vector-effect="non-scaling-stroke"></path>
        <path class="line" d="${steps(hours, { band, height })}" vector-effect="non-scaling-stroke"></path>
      </svg>
      ${ticks.map((tick) => tickLabel(tick, height(tick)))}
      ${hours.map((hour, place) => tooltip(days, hour, { place, band }))}
    </svg>
    <svg class="axis" aria-hidden="true" width="100%">
      ${hours.map((hour, place) => hourLabel(hour, place, band))}
    </svg>`;
}

interface Scales {
  readonly band: ScaleBand<number>;
  readonly height: ScaleLinear<number, number>;
}

function gridLine(y: number): Html {
  return html`<line class="grid" x1="0" x2="100%" y1="${percent(y)}" y2="${percent(y)}"></line>`;
}

/** The labels are drawn last, so that the bars of the first hours do not cover them. */
function tickLabel(tick: number, y: number): Html {
  return html`<text class="tick" x="0" y="${percent(y)}" dy="-0.25em">${countText(tick)}</text>`;
}

function bar({ day }: HourOfDays, { place, band, height }: Scales & { readonly place: number }): Html {
  const count = countOf(day);
  if (count === 0) return html``;
  const y = height(count);
  return html`<rect
    class="now"
    x="${percent(band(place)!)}"
    y="${percent(y)}"
    width="${percent(band.bandwidth())}"
    height="${percent(100 - y)}"
  ></rect>`;
}

/** Returns the path of a line that stands at the number of the day before over the width of each hour. */
function steps(hours: readonly HourOfDays[], { band, height }: Scales): string {
  const start = (place: number) => (band.step() * place).toFixed(2);
  return hours
    .map(({ dayBefore }, place) => {
      if (!dayBefore) return "";
      const y = height(dayBefore.count).toFixed(2);
      const from = place > 0 && hours[place - 1]!.dayBefore ? `V${y}` : `M${start(place)} ${y}`;
      return `${from}H${start(place + 1)}`;
    })
    .join("");
}

/** Returns an invisible column over an hour. A browser shows its title when the pointer is over it. */
function tooltip(days: HourChart["days"], hour: HourOfDays, { place, band }: Pick<Scales, "band"> & { place: number }) {
  const texts = [
    ...(hour.day ? [`${days[0]}: ${sumText(hour.day)}`] : []),
    ...(hour.dayBefore ? [`${days[1]}: ${sumText(hour.dayBefore)}`] : []),
  ];
  return html`<rect class="column" x="${percent(band.step() * place)}" width="${percent(band.step())}" height="100%">
    <title>${[labelOf(hour), ...texts].join("\n")}</title>
  </rect>`;
}

function hourLabel({ hour, isAgain }: HourOfDays, place: number, band: ScaleBand<number>): Html {
  const number = Number(hour.slice(0, 2));
  if (isAgain || number % 3 !== 0) return html``;
  const rank = number % 6 === 0 ? "tick" : "tick minor";
  return html`<text class="${rank}" x="${percent(band.step() * place)}" y="1em">${number}</text>`;
}

function summary(days: HourChart["days"], hours: readonly HourOfDays[]): string {
  const [day, dayBefore] = days.map((name, index) => {
    const counts = hours.map((hour) => countOf(index === 0 ? hour.day : hour.dayBefore));
    const total = counts.reduce((sum, count) => sum + count, 0);
    const best = counts.indexOf(Math.max(...counts));
    const peak = total === 0 ? "" : `, the most from ${labelOf(hours[best]!)}: ${countText(counts[best]!)}`;
    return `${name}: ${countText(total)} ${total === 1 ? "payment" : "payments"}${peak}.`;
  });
  return `${day} ${dayBefore}`;
}

function table(days: HourChart["days"], hours: readonly HourOfDays[]): Html {
  const cell = (sum: Sum | null) => (sum ? sumText(sum) : "–");
  return html`<details>
    <summary>Payments by hour as a table</summary>
    <table aria-labelledby="payments-by-hour">
      <thead>
        <tr>
          <th scope="col">From</th>
          <th scope="col">${days[0]}</th>
          <th scope="col">${days[1]}</th>
        </tr>
      </thead>
      <tbody>
        ${hours.map(
          (hour) =>
            html`<tr>
              <th scope="row">${labelOf(hour)}</th>
              <td data-label="${days[0]}">${cell(hour.day)}</td>
              <td data-label="${days[1]}">${cell(hour.dayBefore)}</td>
            </tr>`,
        )}
      </tbody>
    </table>
  </details>`;
}

function labelOf({ hour, isAgain }: HourOfDays): string {
  return isAgain ? `${hour}, second time` : hour;
}

function countOf(sum: Sum | null): number {
  return sum?.count ?? 0;
}

function percent(value: number): string {
  return `${value.toFixed(2)}%`;
}
