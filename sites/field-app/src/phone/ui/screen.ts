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

/** Navigates to another screen. With `replace` the browser's back button does not return to the present screen. */
export function go(hash: string, how: "push" | "replace" = "push"): void {
  if (how === "replace") location.replace(hash);
  else location.assign(hash);
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
