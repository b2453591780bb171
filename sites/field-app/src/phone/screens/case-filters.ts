import type { CaseFacets } from "../data/answers.ts";
import { facetsOnPhone } from "../data/cases-on-phone.ts";
import { storedCases } from "../data/day.ts";
import { NoAnswerError } from "../data/graphql.ts";
import { CASE_FACETS } from "../data/operations.ts";
import { type Position, currentPosition } from "../data/position.ts";
import { ask } from "../data/session.ts";
import { texts } from "../language/current.ts";
import { count } from "../language/formats.ts";
import { working, faultBelow } from "../ui/parts.ts";
import { chosen, type Filter, type ListChoice, remember, type Sort, USUAL, variablesOf } from "./case-list-choice.ts";
import { element, fill } from "@collections/web-pages/browser";

const FILTERS: readonly Filter[] = ["lender", "city", "bucket"];

/** Opens a sheet with the order and the filters of the list. Calls `changed` after the user has applied them. */
export function openFilters(changed: () => void): void {
  const words = texts().cases;
  const apply = element("button", { type: "submit", class: "primary" }, words.show);
  const filters = element("div", {}, element("p", { class: "hint" }, texts().loading));
  const sheet = element(
    "dialog",
    { class: "sheet", "aria-label": words.filter, close: () => sheet.remove() },
    element(
      "form",
      { novalidate: true, submit: (event) => (event.preventDefault(), void working(apply, putOn)) },
      sorts(chosen().sort),
      filters,
      element(
        "div",
        { class: "press two" },
        element("button", { type: "button", class: "secondary", click: () => close(USUAL) }, words.clear),
        apply,
      ),
    ),
  );
  // Close the dialog at a click outside its content. The target of such a click is the dialog itself.
  sheet.addEventListener("click", (event) => event.target === sheet && sheet.close());
  document.body.append(sheet);
  sheet.showModal();
  void facetsOfView().then((facets) => fill(filters, ...facetChoices(facets)));

  async function putOn(): Promise<void> {
    const sort = (sheet.querySelector<HTMLInputElement>("input[name=sort]:checked")?.value ?? "PRIORITY") as Sort;
    let near: Position | undefined;
    if (sort === "NEAR_ME") {
      near = await currentPosition();
      if (!near) return faultBelow(apply, words.noPosition);
    }
    const valuesOf = (name: Filter) =>
      [...sheet.querySelectorAll<HTMLInputElement>(`input[name=${name}]:checked`)].map(({ value }) => value);
    // Without a network the sheet does not show the cities. Then those that were chosen before stay chosen.
    const isShown = (name: Filter) => sheet.querySelector(`fieldset[data-filter=${name}]`) !== null;
    const filters = Object.fromEntries(
      FILTERS.map((name) => [name, isShown(name) ? valuesOf(name) : (chosen().filters[name] ?? [])]),
    );
    close({ ...chosen(), sort, near, filters });
  }

  function close({ sort, near, filters }: ListChoice): void {
    remember({ ...chosen(), sort, near, filters });
    sheet.close();
    changed();
  }
}

/**
 * Returns the values of the cases in the chosen view with their counts. Without a network they come from the cases on
 * this phone, which have no separate city.
 */
async function facetsOfView(): Promise<Omit<CaseFacets, "city"> & Partial<CaseFacets>> {
  const { filter } = variablesOf({ ...USUAL, view: chosen().view });
  try {
    return (await ask(CASE_FACETS, { filter })).cases.facets;
  } catch (error) {
    if (!(error instanceof NoAnswerError)) throw error;
    return facetsOnPhone(storedCases(), filter);
  }
}

function sorts(current: Sort): HTMLElement {
  const words = texts().cases;
  const options = Object.entries(words.sort).map(([value, text]) =>
    option({ type: "radio", name: "sort", value, checked: value === current }, text),
  );
  return element("fieldset", { class: "options" }, element("legend", {}, words.sortBy), ...options);
}

function facetChoices({ lender, city, bucket }: Awaited<ReturnType<typeof facetsOfView>>): HTMLElement[] {
  const lenders = lender.map(({ lender: { name, code }, count: cases }) => ({ value: code, text: name, cases }));
  const plain = (counts: CaseFacets["city"]) =>
    counts.map(({ value, count: cases }) => ({ value, text: value, cases }));
  return [
    facetChoice("lender", lenders),
    city ? facetChoice("city", plain(city)) : element("p", { class: "hint" }, texts().cases.citiesNeedNetwork),
    facetChoice("bucket", plain(bucket)),
  ];
}

interface Choice {
  readonly value: string;
  readonly text: string;
  readonly cases: number;
}

/** Creates the choice of one filter. A chosen value stays in the choice, even if no case has the value any more. */
function facetChoice(name: Filter, choices: readonly Choice[]): HTMLElement {
  const { facet, valueWithCount } = texts().cases;
  const before = chosen().filters[name] ?? [];
  const gone = before.filter((value) => !choices.some((one) => one.value === value));
  const all = [...choices, ...gone.map((value) => ({ value, text: value, cases: 0 }))];
  const options = all.map(({ value, text, cases }) =>
    option({ type: "checkbox", name, value, checked: before.includes(value) }, valueWithCount(text, count(cases))),
  );
  return element(
    "fieldset",
    { class: "options", "data-filter": name },
    element("legend", {}, facet[name]),
    ...(options.length > 0 ? options : [element("p", { class: "hint" }, texts().none)]),
  );
}

function option(attributes: Readonly<Record<string, string | boolean>>, text: string): HTMLElement {
  return element("label", { class: "option" }, element("input", attributes), element("span", {}, text));
}
