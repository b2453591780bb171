import { byId, element, fill } from "@collections/web-pages/browser";
import MiniSearch from "minisearch";

interface Entry {
  readonly url: string;
  readonly page: string;
  readonly title: string;
  readonly text: string;
}

const MAX_RESULTS = 12;
const EXCERPT_CHARACTERS = 160;

const dialog = byId("search", HTMLDialogElement);
const input = byId("search-text", HTMLInputElement);
const status = byId("search-status", HTMLElement);
const results = byId("search-results", HTMLElement);
const button = byId("search-button", HTMLButtonElement);
let search: Promise<MiniSearch<Entry>> | undefined;

button.hidden = false;
button.addEventListener("click", () => {
  dialog.showModal();
  // Loads the index while the reader types.
  void showResults();
});
input.addEventListener("input", () => void showResults());
dialog.addEventListener("keydown", (event) => {
  if (event.key === "ArrowDown" || event.key === "ArrowUp") moveFocus(event);
});
results.addEventListener("click", () => dialog.close());

async function showResults(): Promise<void> {
  const words = input.value.trim();
  const isEarlierLoad = search !== undefined;
  const loading = (search ??= loadIndex());
  try {
    const found = (await loading).search(words).slice(0, MAX_RESULTS) as unknown as Entry[];
    if (words !== input.value.trim()) return;
    fill(results, ...found.map(result));
    status.textContent = words === "" ? "" : `${resultCount(found.length)} for ${words}`;
  } catch {
    // The next letter tries again.
    if (search === loading) search = undefined;
    if (words !== input.value.trim()) return;
    // The load began before this letter, and the connection may be back.
    if (isEarlierLoad) return showResults();
    status.textContent = "The search could not be loaded. Check the connection, and type again.";
  }
}

function resultCount(found: number): string {
  if (found === 0) return "No results";
  return found === 1 ? "1 result" : `${found} results`;
}

function result({ url, page, title, text }: Entry): HTMLElement {
  const where = title === page ? page : `${page}: ${title}`;
  const link = element("a", { href: url }, where);
  return element("li", {}, link, element("p", {}, text.slice(0, EXCERPT_CHARACTERS)));
}

/** Moves the focus between the input field and the results. */
function moveFocus(event: KeyboardEvent): void {
  const stops = [input, ...results.querySelectorAll("a")];
  const at = stops.indexOf(document.activeElement as HTMLInputElement);
  event.preventDefault();
  stops[Math.min(stops.length - 1, Math.max(0, at + (event.key === "ArrowDown" ? 1 : -1)))]?.focus();
}

/** Loads the index as a script, because the Content-Security-Policy of the pages allows no other request. */
async function loadIndex(): Promise<MiniSearch<Entry>> {
  const script = document.createElement("script");
  script.src = dialog.dataset["index"]!;
  await new Promise((resolve, reject) => {
    script.addEventListener("load", resolve);
    script.addEventListener("error", reject);
    document.head.append(script);
  });
  const index = new MiniSearch<Entry>({
    idField: "url",
    fields: ["title", "page", "text"],
    storeFields: ["url", "page", "title", "text"],
    searchOptions: { prefix: true, fuzzy: 0.15, combineWith: "AND", boost: { title: 4, page: 2 } },
  });
  const entries = (globalThis as unknown as { documentationIndex: Entry[] }).documentationIndex;
  index.addAll([...new Map(entries.map((entry) => [entry.url, entry])).values()]);
  return index;
}
