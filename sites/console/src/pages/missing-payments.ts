import { actForm, type Typed } from "../act-form.ts";
import { type Html, html } from "../html.ts";
import { factList, listTable } from "../list-parts.ts";
import type { PageContent } from "../page.ts";
import { casePath, missingPath, reconciliationPath, uploadPath } from "../paths.ts";
import type { BookedPayments, MissingPayments } from "../reads/money-changes.ts";
import { countText } from "../words.ts";
import { messagePage } from "./message.ts";

const TITLE = "Book the missing payments";

/** The form that books the payments that only the lender's file has. */
export function missingPaymentsPage(
  home: string,
  found: MissingPayments,
  form: Typed & { readonly hidden: Html; readonly majorUnits?: string },
): PageContent {
  const { lenderCode, fileName, rehearsal } = found;
  const problem = form.problem ?? (rehearsal.kind === "refused" ? rehearsal.detail : undefined);
  return {
    title: TITLE,
    section: "Import",
    main: html`<section class="message wide">
      <h1>${TITLE}</h1>
      <p>
        Only the file ${fileName} has these payments of ${lenderCode}. They are booked like confirmations of the lender,
        which gets the events.
      </p>
      ${
        rehearsal.kind === "possible"
          ? html`${factList(rehearsal.facts)} ${rowsTable(home, found, rehearsal.rows)}
            ${bookingForm(home, found, form)}`
          : html`${problem === undefined ? "" : html`<p class="problem" role="alert">${problem}</p>`}
              <p><a href="${home}${uploadPath(found)}">The comparison</a></p>`
      }
    </section>`,
  };
}

function bookingForm(
  home: string,
  found: MissingPayments,
  { hidden, majorUnits = "", ...typed }: Typed & { readonly hidden: Html; readonly majorUnits?: string },
): Html {
  const { version, missing } = found;
  return actForm({
    ...typed,
    home,
    path: missingPath(found),
    hidden,
    fields: html`<input type="hidden" name="version" value="${version}" />
      <label for="majorUnits">Lines that are right although they are 100 times what is owed (optional)</label>
      <input
        id="majorUnits"
        name="majorUnits"
        maxlength="500"
        autocomplete="off"
        placeholder="17, 40"
        value="${majorUnits}"
      />`,
    needsReason: true,
    reasonNote: "The audit keeps the reason, and the SHA-256 of the file.",
    button: missing === 1 ? "Book 1 payment" : `Book ${countText(missing)} payments`,
    back: uploadPath(found),
  });
}

function rowsTable(
  home: string,
  { lenderCode, missing, timeZone }: MissingPayments,
  rows: Extract<MissingPayments["rehearsal"], { kind: "possible" }>["rows"],
): Html {
  const more = missing - rows.length;
  return html`${listTable({
      label: "Missing payments",
      items: rows,
      none: "",
      columns: [
        { label: "Loan", cell: ({ loan }) => html`<a href="${home}${casePath(lenderCode, loan)}">${loan}</a>` },
        { label: "Reference", cell: ({ reference }) => reference },
        { label: "Line", isNumber: true, cell: ({ line }) => line },
        { label: "Amount", isNumber: true, cell: ({ amount }) => amount },
        { label: "Paid", isShort: true, cell: ({ paidAt }) => paidAt ?? "No time" },
      ],
    })}
    <p class="about">${more > 0 ? `And ${countText(more)} more. ` : ""}Times in ${timeZone}.</p>`;
}

/** The result of a booking: how many payments were booked, and why others were not. */
export function bookedPage(home: string, result: BookedPayments): PageContent {
  const { order, booked, alreadyBooked, refusedCount, refused } = result;
  const { lenderCode, runId } = order;
  const before = countText(alreadyBooked);
  return {
    title: TITLE,
    section: "Import",
    main: html`<section class="message wide">
      <h1>${TITLE}</h1>
      <p class="done" role="status">
        ${booked === 1 ? "1 payment is booked." : `${countText(booked)} payments are booked.`}
        ${alreadyBooked === 0 ? "" : `${before} ${alreadyBooked === 1 ? "was" : "were"} booked before.`}
      </p>
      ${
        refusedCount === 0
          ? ""
          : html`<h2>Not booked: ${countText(refusedCount)}</h2>
              ${listTable({
                label: "Payments that were not booked",
                items: refused,
                none: "",
                columns: [
                  { label: "Loan", cell: ({ loan }) => loan },
                  { label: "Reference", cell: ({ reference }) => reference },
                  { label: "Line", isNumber: true, cell: ({ position }) => countText(position) },
                  { label: "Reason", cell: ({ code, detail }) => html`${detail} ${adviceOn(code)}` },
                ],
              })}`
      }
      <p>The file is compared again, so that its page shows what is still missing.</p>
      <p class="buttons">
        <a href="${home}${uploadPath(order)}">The comparison</a>
        <a href="${home}${reconciliationPath(lenderCode, runId)}">The reconciliation before</a>
      </p>
    </section>`,
  };
}

function adviceOn(code: string): string {
  if (code !== "AMOUNT_LOOKS_LIKE_MINOR_UNITS") return "";
  return "If the amount is right, book the missing payments again and name this line in the form.";
}

/** The page for an upload that is no comparison of payments, or that has expired. */
export function noComparisonPage(): PageContent {
  return messagePage(
    "No comparison",
    "There is no comparison of this file any more. Upload the payments of the day again, and compare them.",
  );
}
