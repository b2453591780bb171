import { type Html, html } from "../html.ts";
import { listTable } from "../list-parts.ts";
import type { ReconciliationView } from "../reads/uploads.ts";
import { countText } from "../words.ts";

/** Returns the result of a comparison of payments: counts, sums, and the first differences of each list. */
export function reconciliationOf({ title, sums, matched, counts, lists, advice, storedAs }: ReconciliationView): Html {
  return html`<h2>Differences</h2>
    <p>${title}</p>
    ${listTable({
      label: "Sums",
      items: sums,
      none: "There is no payment.",
      columns: [
        { label: "Side", cell: ([side]) => side },
        { label: "Payments", isNumber: true, cell: ([, payments]) => payments },
        { label: "Sum", isNumber: true, cell: ([, , sum]) => sum },
      ],
    })}
    ${listTable({
      label: "Differences",
      items: [["matched", matched, ""] as const, ...counts],
      none: "",
      columns: [
        { label: "List", cell: ([list]) => list },
        { label: "Payments", isNumber: true, cell: ([, count]) => count },
        { label: "Meaning", cell: ([, , meaning]) => meaning },
      ],
    })}
    ${lists.map(listOf)}
    ${advice.map(
      ({ text, lines }) =>
        html`<p>${text}</p>
          ${linesOf(lines)}`,
    )}
    <p class="about">${storedAs}</p>`;
}

function listOf({ list, rows, lines, more }: ReconciliationView["lists"][number]): Html {
  return html`<h3>${list}</h3>
    ${
      rows.length === 0
        ? linesOf(lines)
        : listTable({
            label: list,
            items: rows,
            none: "",
            columns: [
              { label: "Loan", cell: ([, loan]) => loan },
              { label: "Line", isNumber: true, cell: ([line]) => line },
              { label: "Reference", cell: ([, , reference]) => reference },
              { label: "File", isNumber: true, cell: ([, , , file]) => file },
              { label: "Booked", isNumber: true, cell: ([, , , , booked]) => booked },
              { label: "Reversed", isNumber: true, cell: ([, , , , , reversed]) => reversed },
              { label: "Paid at", cell: ([, , , , , , paidAt]) => paidAt },
            ],
          })
    }
    ${more > 0 ? html`<p class="about">and ${countText(more)} more</p>` : ""}`;
}

/** Returns lines as a list. */
export function linesOf(lines: readonly string[]): Html {
  if (lines.length === 0) return html``;
  return html`<ul class="people">
    ${lines.map((line) => html`<li>${line}</li>`)}
  </ul>`;
}
