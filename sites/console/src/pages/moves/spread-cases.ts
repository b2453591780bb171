import { actForm, type Typed } from "../../act-form.ts";
import type { SpreadBy, SpreadRequest } from "../../acts.ts";
import type { PersonSummary, SpreadPlan } from "../../desk.ts";
import { type Html, html } from "../../html.ts";
import { lenderField, queryText } from "../../list-parts.ts";
import type { PageContent } from "../../page.ts";
import { countText } from "../../words.ts";
import { movesTable } from "./move-cases.ts";

const MAX_NAMES_CHARACTERS = 5_000;

/** The choices of what a spread evens out, with labels. */
export const SPREAD_BY: readonly (readonly [by: SpreadBy, label: string])[] = [
  ["amount", "Number and amounts"],
  ["postal-code", "Number, with each postal code at one person"],
];

interface SpreadForm extends Typed {
  readonly hidden: Html;
  readonly lenderCodes: readonly string[];
  readonly request: SpreadRequest;
  /** The dry run; undefined before the field partners were named. */
  readonly plan: SpreadPlan | undefined;
}

/** The form that spreads the unassigned cases of a lender, with its dry run if the field partners are named. */
export function spreadPage(home: string, form: SpreadForm): PageContent {
  return {
    title: "Spread unassigned cases",
    section: "Cases",
    main: html`<section class="message wide">
      <h1>Spread unassigned cases</h1>
      ${planOf(home, form)} ${requestForm(home, form)}
    </section>`,
  };
}

/** The page after the unassigned cases of a lender were spread. */
export function spreadDonePage(home: string, lenderCode: string): PageContent {
  return {
    title: "Spread unassigned cases",
    section: "Cases",
    main: html`<section class="message">
      <h1>Spread unassigned cases</h1>
      <p class="done" role="status">The cases are assigned.</p>
      <p>
        <a href="${home}/cases?${queryText({ lender: lenderCode, holder: "none" })}">Unassigned cases</a>
        <a href="${home}/audit?act=case.">Audit</a>
      </p>
    </section>`,
  };
}

/** If the page shows a dry run, the button of its form is the main one. */
function requestForm(home: string, { lenderCodes, request: { lenderCode, by, people }, plan }: SpreadForm): Html {
  const hasDryRun = plan?.kind === "planned" && assignedBy(plan) > 0;
  return html`<form method="get" action="${home}/cases/spread" class="act">
    ${lenderField(lenderCodes, lenderCode)}
    <label for="by">What to even out</label>
    <select id="by" name="by">
      ${SPREAD_BY.map(
        ([value, label]) => html`<option value="${value}" ${value === by ? html`selected` : ""}>${label}</option>`,
      )}
    </select>
    <label for="people">Field partners: a name, phone or id on each line</label>
    <textarea id="people" name="people" rows="5" required maxlength="${MAX_NAMES_CHARACTERS}">
${people.join("\n")}</textarea>
    <p class="buttons">
      ${
        hasDryRun
          ? html`<button type="submit" class="plain">Show who would get what</button>`
          : html`<button type="submit">Show who would get what</button> <a href="${home}/cases">Cancel</a>`
      }
    </p>
  </form>`;
}

function planOf(home: string, form: SpreadForm): Html {
  const { plan, problem, request } = form;
  if (plan === undefined) return problemText(problem);
  if (plan.kind === "refused") return problemText(problem ?? plan.detail);
  if (plan.kind === "unclear") return unclearText(plan);
  const { lenders, people, version } = plan;
  const assigned = assignedBy(plan);
  if (assigned === 0) return html`<p role="status">No unassigned case of ${request.lenderCode} can be assigned.</p>`;
  return html`<h2>Who would get what</h2>
    ${movesTable(lenders, people)}
    ${actForm({
      problem,
      reason: form.reason,
      home,
      path: "/cases/spread",
      hidden: form.hidden,
      fields: html`<input type="hidden" name="lender" value="${request.lenderCode}" />
        <input type="hidden" name="by" value="${request.by}" />
        <input type="hidden" name="version" value="${version}" />
        <input type="hidden" name="people" value="${idsOf(people)}" />`,
      needsReason: false,
      reasonNote: "The audit keeps the reason. The lender gets an event for each case.",
      button: assigned === 1 ? "Assign 1 case" : `Assign ${countText(assigned)} cases`,
      back: "/cases",
    })}
    <h2>Other field partners</h2>`;
}

function assignedBy({ lenders }: Pick<Extract<SpreadPlan, { kind: "planned" }>, "lenders">): number {
  return lenders.reduce((sum, one) => sum + one.assigned, 0);
}

function idsOf(people: readonly PersonSummary[]): string {
  return people.map(({ fieldPartnerId }) => fieldPartnerId).join(" ");
}

function unclearText({ text, found }: Extract<SpreadPlan, { kind: "unclear" }>): Html {
  if (found.length === 0) return problemText(`No field partner matches “${text}”.`);
  return html`${problemText(`Several field partners match “${text}”. Give the id of one of them.`)}
    <ul class="people">
      ${found.map(
        ({ fieldPartnerId, displayName, phone }) =>
          html`<li>
            ${displayName} <span>${phone}, <code>${fieldPartnerId}</code></span>
          </li>`,
      )}
    </ul>`;
}

function problemText(problem: string | undefined): Html {
  return problem === undefined ? html`` : html`<p class="problem" role="alert">${problem}</p>`;
}
