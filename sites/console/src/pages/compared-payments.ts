import { type Html, html } from "../html.ts";
import { listTable } from "../list-parts.ts";
import { casePath, reconciliationPath } from "../paths.ts";
import type { ComparedPayments } from "../reads/uploads.ts";
import { capitalized, countText, words } from "../words.ts";

/**
 * Returns the result of a comparison of payments: counts, sums, and the first differences of each list. The link leads to
 * the stored reconciliation.
 */
export function comparedPayments(
  home: string,
  lenderCode: string,
  { title, sums, matched, counts, lists, advice, runId }: ComparedPayments,
): Html {
  const found = counts.filter(([, count]) => count !== "0");
  return html`<h2>Differences</h2>
    <p>${title} ${found.length === 0 ? "The file and the books agree." : ""}</p>
    ${listTable({
      label: "Sums",
      items: sums,
      none: "There is no payment.",
      columns: [
        { label: "Side", cell: ([side]) => capitalized(side) },
        { label: "Payments", isNumber: true, cell: ([, payments]) => payments },
        { label: "Sum", isNumber: true, cell: ([, , sum]) => sum || "–" },
      ],
    })}
    ${listTable({
      label: "Differences",
      items: [["matched", matched, "Booked as in the file"] as const, ...found],
      none: "",
      columns: [
        { label: "List", cell: ([list]) => words(list) },
        { label: "Payments", isNumber: true, cell: ([, count]) => count },
        { label: "Meaning", cell: ([, , meaning]) => capitalized(meaning) },
      ],
    })}
    ${lists.map((one) => listOf(home, lenderCode, one))}
    ${advice.map(
      ({ text, lines }) =>
        html`<p>${text}</p>
          ${linesOf(lines)}`,
    )}
    <p class="about">Stored as <a href="${home}${reconciliationPath(lenderCode, runId)}">${runId}</a>.</p>`;
}

function listOf(
  home: string,
  lenderCode: string,
  { list, rows, lines, more }: ComparedPayments["lists"][number],
): Html {
  return html`<h3>${words(list)}</h3>
    ${
      rows.length === 0
        ? linesOf(lines)
        : listTable({
            label: words(list),
            items: rows,
            none: "",
            columns: [
              { label: "Loan", cell: ([, loan]) => loanLink(home, lenderCode, loan) },
              { label: "Line", isNumber: true, isOptional: true, cell: ([line]) => line || "–" },
              { label: "Reference", cell: ([, , reference]) => reference },
              { label: "File", isNumber: true, isOptional: true, cell: ([, , , file]) => file || "–" },
              { label: "Booked", isNumber: true, isOptional: true, cell: ([, , , , booked]) => booked || "–" },
              { label: "Reversed", isNumber: true, isOptional: true, cell: ([, , , , , reversed]) => reversed || "–" },
              { label: "Paid", cell: ([, , , , , , paidAt]) => paidAt || "–" },
            ],
          })
    }
    ${more > 0 ? html`<p class="about">And ${countText(more)} more.</p>` : ""}`;
}

/** Returns a loan as a link. The loan on which a payment is booked instead stands behind it. */
function loanLink(home: string, lenderCode: string, text: string): Html {
  const [, loan = text, rest = ""] = /^(.*?)( \(booked on .*\))?$/.exec(text) ?? [];
  return html`<a href="${home}${casePath(lenderCode, loan)}">${loan}</a>${rest}`;
}

/** Returns lines as a list. */
export function linesOf(lines: readonly string[]): Html {
  if (lines.length === 0) return html``;
  return html`<ul class="people">
    ${lines.map((line) => html`<li>${capitalized(line)}</li>`)}
  </ul>`;
}
