import type { LenderMoves } from "../../acts.ts";
import { actForm, type Typed } from "../../act-form.ts";
import type { MovePlan, PersonSummary } from "../../desk.ts";
import { type Html, html } from "../../html.ts";
import { listTable } from "../../list-parts.ts";
import type { PageContent } from "../../page.ts";
import { personPath } from "../../paths.ts";
import { amountsText, countText } from "../../words.ts";
import { personChoice, type PersonSearch } from "./person-choice.ts";

interface MoveForm extends PersonSearch, Typed {
  readonly hidden: Html;
  readonly plan: MovePlan | undefined;
}

/** The form that moves all open cases of a field partner, with its dry run if the other person is chosen. */
export function movePage(home: string, from: PersonSummary, form: MoveForm): PageContent {
  const { hidden, plan, text, people, ...typed } = form;
  const path = personPath(from.fieldPartnerId, "move");
  const [to] = people?.length === 1 ? people : [];
  return {
    title: "Move all cases",
    section: "Field partners",
    main: html`<section class="message wide">
      <h1>Move all cases of ${from.displayName}</h1>
      <p>${casesOf(from.openCases)} of ${from.displayName}, ${from.phone}, go to another field partner.</p>
      ${to && plan ? planOf(home, { from, to, plan, hidden, typed }) : problemOf(typed)}
      ${personChoice(home, path, { text, people }, "Name, phone or id of the field partner who gets the cases")}
    </section>`,
  };
}

/** The page after all cases of a field partner were moved. */
export function movedPage(home: string, from: PersonSummary): PageContent {
  return {
    title: "Move all cases",
    section: "Field partners",
    main: html`<section class="message">
      <h1>Move all cases of ${from.displayName}</h1>
      <p class="done" role="status">
        The cases are moved.
        ${from.openCases === 0 ? "The person has no open case." : html`${casesOf(from.openCases)} could not be moved.`}
      </p>
      <p><a href="${home}/audit?act=case.">Audit</a></p>
    </section>`,
  };
}

function casesOf(count: number): string {
  return count === 1 ? "1 open case" : `${countText(count)} open cases`;
}

function problemOf({ problem }: Typed): Html {
  return problem === undefined ? html`` : html`<p class="problem" role="alert">${problem}</p>`;
}

interface PlannedForm {
  readonly from: PersonSummary;
  readonly to: PersonSummary;
  readonly plan: MovePlan;
  readonly hidden: Html;
  readonly typed: Typed;
}

function planOf(home: string, { from, to, plan, hidden, typed }: PlannedForm): Html {
  if (plan.kind === "refused") return problemOf({ problem: plan.detail });
  const { lenders, version } = plan;
  const assigned = lenders.reduce((sum, one) => sum + one.assigned, 0);
  if (assigned === 0) return html`<p role="status">No case can be moved to ${to.displayName}.</p>`;
  return html`<h2>${to.displayName} would get</h2>
    ${movesTable(lenders, [to])}
    ${actForm({
      ...typed,
      home,
      path: personPath(from.fieldPartnerId, "move"),
      hidden,
      fields: html`<input type="hidden" name="person" value="${to.fieldPartnerId}" />
        <input type="hidden" name="version" value="${version}" />`,
      needsReason: true,
      reasonNote: "The audit keeps the reason. Each lender gets an event for each case.",
      button: assigned === 1 ? "Move 1 case" : `Move ${countText(assigned)} cases`,
      back: personPath(from.fieldPartnerId),
    })}
    <h2>Somebody else</h2>`;
}

/**
 * Returns a table with the cases that each person gets, and the first refused cases. Names may be alike, so the phones of
 * `people` stand below them.
 */
export function movesTable(lenders: readonly LenderMoves[], people: readonly PersonSummary[]): Html {
  const phones = new Map(people.map(({ fieldPartnerId, phone }) => [fieldPartnerId, phone]));
  const refused = lenders.filter(({ rejected }) => rejected > 0);
  const shares = lenders.flatMap(({ lenderCode, fieldPartners }) =>
    fieldPartners.map((share) => ({ ...share, lenderCode })),
  );
  return html`${listTable({
    label: "Cases that each person gets",
    items: shares,
    none: "",
    columns: [
      { label: "Lender", cell: ({ lenderCode }) => lenderCode },
      {
        label: "Field partner",
        cell: ({ fieldPartnerId, displayName }) =>
          html`${displayName} <small>${phones.get(fieldPartnerId) ?? fieldPartnerId}</small>`,
      },
      { label: "Cases", isNumber: true, cell: ({ cases }) => countText(cases) },
      {
        label: "Outstanding",
        isNumber: true,
        cell: ({ outstandingAmount: amount, currency }) => amountsText([{ amount, currency }]),
      },
    ],
  })}
  ${refused.map(
    ({ lenderCode, rejected, rejectedMoves }) =>
      html`<p>${lenderCode}: ${countText(rejected)} refused.</p>
        <ul class="people">
          ${rejectedMoves.slice(0, 20).map(({ sourceLoanNumber, detail }) => html`<li>${sourceLoanNumber} ${detail}</li>`)}
        </ul>`,
  )}`;
}
