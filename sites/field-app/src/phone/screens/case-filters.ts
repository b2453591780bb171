import { chosen, FILTERS, type ListChoice, remember, SORTS, USUAL } from "./case-list-choice.ts";
import { element } from "@collections/web-pages/browser";
import { field, working, faultBelow } from "../ui/parts.ts";
import { type Position, currentPosition } from "../data/position.ts";

/** Opens a sheet with the order and the filters of the list. Calls `changed` after the user has applied them. */
export function openFilters(changed: () => void): void {
  const { sort, filters } = chosen();
  const inputs = (Object.keys(FILTERS) as (keyof typeof FILTERS)[]).map((name) => {
    const input = element("input", {
      id: `filter-${name}`,
      value: filters[name] ?? "",
      placeholder: EXAMPLES[name],
      autocomplete: "off",
    });
    return { name, input };
  });
  const apply = element("button", { type: "submit", class: "primary" }, "Show cases");
  const sheet = element(
    "dialog",
    { class: "sheet", "aria-label": "Sort and filter", close: () => sheet.remove() },
    element(
      "form",
      { novalidate: true, submit: (event) => (event.preventDefault(), void working(apply, putOn)) },
      element("h2", {}, "Sort by"),
      sorts(sort),
      element("h2", {}, "Only"),
      element("div", { class: "pairs" }, ...inputs.map(({ name, input }) => field(FILTERS[name], input))),
      element(
        "div",
        { class: "press two" },
        element("button", { type: "button", class: "secondary", click: () => close(USUAL) }, "Clear"),
        apply,
      ),
    ),
  );
  // Close the dialog at a click outside its content. The target of such a click is the dialog itself.
  sheet.addEventListener("click", (event) => event.target === sheet && sheet.close());
  document.body.append(sheet);
  sheet.showModal();

  async function putOn(): Promise<void> {
    const sort = (sheet.querySelector<HTMLInputElement>("input[name=sort]:checked")?.value ?? "PRIORITY") as Sort;
    let near: Position | undefined;
    if (sort === "NEAR_ME") {
      near = await currentPosition();
      if (!near) return faultBelow(apply, "This phone does not give your location. Allow it, or choose another order.");
    }
    const typed = Object.fromEntries(inputs.map(({ name, input }) => [name, input.value]));
    close({ ...chosen(), sort, near, filters: typed });
  }

  function close({ sort, near, filters }: ListChoice): void {
    remember({ ...chosen(), sort, near, filters });
    sheet.close();
    changed();
  }
}

type Sort = keyof typeof SORTS;

const EXAMPLES = { city: "Pune", postalCode: "411001", bucket: "31-60", lender: "ACME" } satisfies typeof FILTERS;

function sorts(current: Sort): HTMLElement {
  const options = Object.entries(SORTS).map(([value, text]) =>
    element(
      "label",
      { class: "option" },
      element("input", { type: "radio", name: "sort", value, checked: value === current }),
      element("span", {}, text),
    ),
  );
  return element("fieldset", { class: "options" }, element("legend", { class: "unseen" }, "Sort by"), ...options);
}
