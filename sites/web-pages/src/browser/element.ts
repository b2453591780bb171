/** What may stand in an element; what is not there is left out. */
export type Content = Node | string | null | undefined | false;

type Attributes = Readonly<Record<string, string | boolean | undefined | ((event: Event) => void)>>;

/**
 * An element with attributes and content; text is text, never HTML. An attribute that is `true` is empty, one that is
 * `false` is left out, and a function hears the event that it is named for: `{ click: open }`.
 */
export function element<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  attributes: Attributes = {},
  ...content: readonly Content[]
): HTMLElementTagNameMap[Name] {
  const made = document.createElement(name);
  for (const [attribute, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(attribute, value);
    else if (value === true) made.setAttribute(attribute, "");
    else if (value !== false && value !== undefined) made.setAttribute(attribute, value);
  }
  made.append(...content.filter(isThere));
  return made;
}

/** Puts other content into an element. */
export function fill(place: Element, ...content: readonly Content[]): void {
  place.replaceChildren(...content.filter(isThere));
}

function isThere(content: Content): content is Node | string {
  return content !== null && content !== undefined && content !== false;
}

/** The element that the page has under this id; its absence is a bug of the page. */
export function byId<Type extends HTMLElement>(id: string, type: new () => Type): Type {
  const found = document.getElementById(id);
  if (!(found instanceof type)) throw new TypeError(`The page has no ${type.name} called ${id}.`);
  return found;
}
