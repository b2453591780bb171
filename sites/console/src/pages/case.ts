import type { ConsoleOperator } from "../access.ts";
import { CASE_ORDERS } from "../acts.ts";
import type { CaseView } from "../desk.ts";
import { type Html, html } from "../html.ts";
import { factList, withWholeDays } from "../list-parts.ts";
import type { PageContent } from "../page.ts";
import { casePath, deliveryPath, personPath, withQuery } from "../paths.ts";
import { mayOperate } from "../route.ts";
import { capitalized, words } from "../words.ts";
import { messagePage } from "./message.ts";
import { orderDoneText, orderLabel } from "./order-case.ts";

/** A case: what is known about it, and everything that happened on it in one timeline. */
export function casePage(
  home: string,
  view: CaseView,
  given: { readonly operator: ConsoleOperator; readonly done: string | null; readonly isSandbox: boolean },
): PageContent {
  const { operator, done, isSandbox } = given;
  const { lenderCode, sourceLoanNumber, caseId, cycle, status, timeZone, borrowerName, erasedAt, facts, timeline } =
    view;
  return {
    title: `Loan ${sourceLoanNumber}`,
    section: "Cases",
    main: html`<h1>
        ${erasedAt === null ? borrowerName : `Loan ${sourceLoanNumber}`} <span class="state">${words(status)}</span>
      </h1>
      <p class="about">Loan ${sourceLoanNumber} of ${lenderCode}, cycle ${cycle}, ${caseId}</p>
      ${doneLine(done)}
      ${actLinks(home, view, {
        hasOrders: operator.lenderCode === null && operator.roles.includes("operator"),
        hasScenes: isSandbox && mayOperate(operator),
      })}
      <div class="case">
        <section class="panel">
          <h2>Case</h2>
          ${factList(facts.map(([name, value]) => [words(name), factOf(home, view, { name, value, operator })]))}
        </section>
        <section class="panel">
          <h2>Timeline</h2>
          <p class="about">Times in ${timeZone}. Each kind of entry shows its last 50.</p>
          ${
            timeline.length === 0
              ? html`<p>Nothing has happened yet.</p>`
              : html`<ol class="timeline">
                  ${timeline.map(
                    ({ at, what, details, code, eventId }) =>
                      html`<li>
                        <span class="at">${at}</span>
                        <b>${whatOf(home, what, eventId)}</b>
                        <span
                          >${detailsOf(what, details)} ${code === undefined ? "" : html`<small>${code}</small>`}</span
                        >
                      </li>`,
                  )}
                </ol>`
          }
        </section>
      </div>`,
  };
}

/** Returns the kind of an entry. That of an event that was not delivered leads to the page of the delivery. */
function whatOf(home: string, what: string, eventId: string | undefined): Html | string {
  return eventId === undefined ? words(what) : html`<a href="${home}${deliveryPath(eventId)}">${words(what)}</a>`;
}

/** The kinds of entries whose details begin with words of the service, and not with a name or a reference. */
const BEGIN_WITH_WORDS = new Set(["message", "contact seen"]);

/** Returns the details of an entry. A name or a reference at the beginning stays as it is. */
function detailsOf(what: string, details: string): Html {
  return withWholeDays(BEGIN_WITH_WORDS.has(what) ? capitalized(details) : details);
}

interface Fact {
  readonly name: string;
  readonly value: string;
  readonly operator: ConsoleOperator;
}

/** The facts whose values are words of the service, and not names or times. */
const IN_WORDS = new Set(["status", "field work", "days past due", "field partner", "personal data"]);

/** Returns the value of a fact. For operators, the name of the field partner leads to their page. */
function factOf(home: string, { fieldPartner, holderName }: CaseView, { name, value, operator }: Fact): Html | string {
  if (name === "field partner" && fieldPartner && holderName !== null && operator.lenderCode === null) {
    return html`<a href="${home}${personPath(fieldPartner.id)}">${holderName}</a
      >${withWholeDays(value.slice(holderName.length))}`;
  }
  return withWholeDays(IN_WORDS.has(name) ? capitalized(value) : value);
}

function doneLine(done: string | null): Html {
  const order = CASE_ORDERS.find((one) => one === done);
  const text = done === "assign" ? "The case is assigned." : order && orderDoneText(order);
  return text === undefined ? html`` : html`<p class="done" role="status">${text}</p>`;
}

function actLinks(
  home: string,
  { lenderCode, sourceLoanNumber, holderName, allows }: CaseView,
  { hasOrders, hasScenes }: { readonly hasOrders: boolean; readonly hasScenes: boolean },
): Html {
  const orders = [
    ...(allows.assign
      ? [{ act: "assign", label: holderName === null ? "Assign the case" : "Assign to somebody else" }]
      : []),
    ...allows.orders.map((order) => ({ act: order, label: orderLabel(order) })),
  ];
  const path = casePath(lenderCode, sourceLoanNumber);
  const scenes = withQuery("/sandbox", { lender: lenderCode, loan: sourceLoanNumber });
  if (!hasOrders && !hasScenes) return html``;
  return html`<p class="acts">
    ${hasOrders ? orders.map(({ act, label }) => html`<a href="${home}${path}/${act}">${label}</a> `) : ""}
    ${hasScenes ? html`<a href="${home}${scenes}">Play a scene</a>` : ""}
  </p>`;
}

/** The page for a lender or loan that does not exist. */
export function noCasePage(): PageContent {
  return messagePage("Loan not found", "There is no such loan of this lender. Search for a part of its number.");
}
