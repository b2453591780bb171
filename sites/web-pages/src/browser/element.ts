/** The content of an element. null, undefined and false are skipped. */
export type Content = Node | string | null | undefined | false;

type Attributes = Readonly<Record<string, string | boolean | undefined | ((event: Event) => void)>>;

/**
 * Creates an element with attributes and content. A text is inserted as text, never as HTML. An attribute with `true`
 * is empty, one with `false` is omitted, and a function listens to the event of its name: `{ click: open }`.
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

/** Replaces the content of an element. */
export function fill(place: Element, ...content: readonly Content[]): void {
  place.replaceChildren(...content.filter(isThere));
}

function isThere(content: Content): content is Node | string {
  return content !== null && content !== undefined && content !== false;
}

/** Returns the page's element with this id. Throws if it is missing, which is a bug of the page. */
export function byId<Type extends HTMLElement>(id: string, type: new () => Type): Type {
  const found = document.getElementById(id);
  if (!(found instanceof type)) throw new TypeError(`The page has no ${type.name} with the id ${id}.`);
  return found;
}
