import { actForm, type Typed } from "../act-form.ts";
import type { DeliveryView } from "../desk.ts";
import { type Html, html } from "../html.ts";
import { factList } from "../list-parts.ts";
import type { PageContent } from "../page.ts";
import { casePath, deliveryPath } from "../paths.ts";
import { capitalized, words } from "../words.ts";
import { messagePage } from "./message.ts";

/** A delivery with its attempts, and the form that sends the event again. `hidden` is undefined if the reader may not. */
export function deliveryPage(
  home: string,
  view: DeliveryView,
  { hidden, isDone = false, ...typed }: Typed & { readonly hidden: Html | undefined; readonly isDone?: boolean },
): PageContent {
  const { eventId, lenderCode, kind, what, sourceLoanNumber, state, timeZone, facts, attempts, isReplayable } = view;
  const isNew = state === "waiting" || state === "in_flight";
  return {
    title: "Delivery",
    section: "Deliveries",
    main: html`<h1>${what} <span class="state">${words(state)}</span></h1>
      <p class="about">
        ${kind}, ${eventId},
        <a href="${home}${casePath(lenderCode, sourceLoanNumber)}">loan ${sourceLoanNumber}</a> of ${lenderCode}
      </p>
      ${isDone ? html`<p class="done" role="status">${isNew ? "The event is sent again." : "The event was sent again."}</p>` : ""}
      <div class="case">
        <section class="panel">
          <h2>Delivery</h2>
          ${factList(facts.map(([name, value]) => [words(name), value]))}
          ${hidden && isReplayable ? replayForm(home, view, hidden, typed) : ""}
        </section>
        <section class="panel">
          <h2>Attempts</h2>
          ${
            attempts.length === 0
              ? html`<p class="empty">The event has not been sent yet.</p>`
              : html`<p class="about">Times in ${timeZone}.</p>
                  <ol class="timeline">
                    ${attempts.map(attemptOf)}
                  </ol>`
          }
        </section>
      </div>`,
  };
}

/** The page for an event that does not exist. */
export function noDeliveryPage(): PageContent {
  return messagePage("Event not found", "There is no such event, or it has been deleted.");
}

function replayForm(home: string, { eventId }: DeliveryView, hidden: Html, typed: Typed): Html {
  return html`<h2>Send again</h2>
    ${actForm({
      ...typed,
      home,
      path: `${deliveryPath(eventId)}/replay`,
      hidden,
      needsReason: true,
      reasonNote: "The event has the same id and content, and is marked as a replay. The audit keeps the reason.",
      button: "Send the event again",
    })}`;
}

function attemptOf({ at, outcome, cause, remedy }: DeliveryView["attempts"][number]): Html {
  return html`<li>
    <span class="at">${at}</span>
    <b>${capitalized(outcome)}</b>
    <span>${[cause, remedy].filter(Boolean).join(" ")}</span>
  </li>`;
}
