import { element } from "@collections/web-pages/browser";

const REMEMBERED = "documentation.language";

/** The samples of one group as tabs (WAI-ARIA Authoring Practices: Tabs with automatic activation). */
interface Tabs {
  readonly tabs: ReadonlyMap<string, HTMLButtonElement>;
  readonly panels: ReadonlyMap<string, HTMLElement>;
}

/** Turns samples in several languages into tabs. A chosen language applies to all samples, and is remembered. */
export function showSampleTabs(within: ParentNode): void {
  const groups = [...within.querySelectorAll<HTMLElement>(".samples")].map((samples) => tabsOf(samples, chosen));
  const remembered = rememberedLanguage();
  for (const group of groups) {
    const [first = ""] = group.tabs.keys();
    show(group, remembered !== undefined && group.tabs.has(remembered) ? remembered : first);
  }
  showTarget();
  addEventListener("hashchange", showTarget);

  function chosen(language: string): void {
    remember(language);
    for (const group of groups) if (group.tabs.has(language)) show(group, language);
  }

  /** Shows the sample that the page's URL leads to. */
  function showTarget(): void {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const panel = target?.closest<HTMLElement>(".sample");
    const group = groups.find(({ panels }) => panel && [...panels.values()].includes(panel));
    if (!group || !panel) return;
    show(group, panel.dataset["language"]!);
    panel.parentElement?.scrollIntoView();
  }
}

function tabsOf(samples: HTMLElement, choose: (language: string) => void): Tabs {
  const tabs = new Map<string, HTMLButtonElement>();
  const panels = new Map<string, HTMLElement>();
  for (const panel of samples.querySelectorAll<HTMLElement>(":scope > .sample")) {
    const language = panel.dataset["language"]!;
    const id = `${panel.id}-tab`;
    const attributes = { type: "button", role: "tab", id, "aria-controls": panel.id, click: () => choose(language) };
    tabs.set(language, element("button", attributes, panel.dataset["name"]));
    panel.setAttribute("role", "tabpanel");
    panel.setAttribute("aria-labelledby", id);
    panels.set(language, panel);
  }
  const list = element("div", { role: "tablist", "aria-label": "Language of the samples" }, ...tabs.values());
  list.addEventListener("keydown", (event) => {
    const next = nextTab([...tabs.keys()], current({ tabs, panels }), event.key);
    if (next === undefined) return;
    event.preventDefault();
    choose(next);
    tabs.get(next)?.focus();
  });
  samples.prepend(list);
  samples.classList.add("tabbed");
  return { tabs, panels };
}

function nextTab(languages: readonly string[], from: string, key: string): string | undefined {
  const at = languages.indexOf(from);
  if (key === "ArrowRight") return languages[(at + 1) % languages.length];
  if (key === "ArrowLeft") return languages.at(at - 1);
  if (key === "Home") return languages[0];
  return key === "End" ? languages.at(-1) : undefined;
}

function current({ tabs }: Tabs): string {
  return [...tabs].find(([, tab]) => tab.ariaSelected === "true")?.[0] ?? "";
}

function show({ tabs, panels }: Tabs, language: string): void {
  for (const [each, tab] of tabs) {
    tab.setAttribute("aria-selected", String(each === language));
    tab.tabIndex = each === language ? 0 : -1;
  }
  for (const [each, panel] of panels) panel.hidden = each !== language;
}

/** Browsers that block storage throw at any access to it. The page then works without a memory. */
function rememberedLanguage(): string | undefined {
  try {
    return localStorage.getItem(REMEMBERED) ?? undefined;
  } catch {
    return undefined;
  }
}

function remember(language: string): void {
  try {
    localStorage.setItem(REMEMBERED, language);
  } catch {
    // The choice counts for this page only.
  }
}
