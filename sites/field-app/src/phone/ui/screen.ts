/** The screens that have a tab in the bar at the bottom. */
export type TabName = "today" | "cases" | "money" | "me";

/** Where a screen is drawn. */
export interface Place {
  /** The scrolling content. */
  readonly main: HTMLElement;
  /** The actions at the bottom, within reach of a thumb. */
  readonly actions: HTMLElement;
  /** Aborted when the user leaves the screen. */
  readonly signal: AbortSignal;
}

export interface Screen {
  readonly title: string;
  /** Whether the screen shows the app's logo. */
  readonly mark?: boolean;
  /** The screen's tab in the bar at the bottom, if it has one. */
  readonly tab?: TabName;
  /** Where the back arrow leads. */
  readonly back?: string;
  /** Draws the screen, and updates it until the user leaves it. */
  open(place: Place): void;
}

/** The position of the present screen in the browser's history; the first screen of the app has 1. */
let depth = 0;
/** Whether the next entry of the history replaces the present one, instead of following it. */
let isReplacing = false;

/** Stores the depth in the present entry of the browser's history. Call it at the start, and after each `hashchange`. */
export function noteDepth(): void {
  const { depth: known } = (history.state ?? {}) as { readonly depth?: number };
  depth = known ?? (isReplacing ? depth : depth + 1);
  isReplacing = false;
  if (known === undefined) history.replaceState({ depth }, "");
}

/** Navigates to another screen. With `replace` the browser's back button does not return to the present screen. */
export function go(hash: string, how: "push" | "replace" = "push"): void {
  isReplacing = how === "replace" && location.hash !== hash;
  if (how === "replace") location.replace(hash);
  else location.assign(hash);
}

/**
 * Goes back to the first screen in the browser's history, and shows `hash` in its place. The browser's back button then
 * leads to none of the screens in between, such as those of a finished visit.
 */
export function goToStart(hash: string): void {
  if (depth <= 1) return go(hash, "replace");
  globalThis.addEventListener("popstate", () => go(hash, "replace"), { once: true });
  history.go(1 - depth);
}

export const PATHS = {
  today: "#/today",
  cases: "#/cases",
  money: "#/money",
  me: "#/me",
  waiting: "#/waiting",
  case: (id: string) => `#/case/${id}`,
  visit: (id: string) => `#/case/${id}/visit`,
  end: (id: string, as = "") => `#/case/${id}/end${as && `/${as}`}`,
  link: (id: string, linkId: string) => `#/case/${id}/link/${linkId}`,
  waitingLink: (id: string, key: string) => `#/case/${id}/asked/${key}`,
};
