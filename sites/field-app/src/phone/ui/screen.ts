/** The screens that the bar at the bottom leads to. */
export type TabName = "today" | "cases" | "money" | "me";

/** Where a screen is drawn. */
export interface Place {
  /** What scrolls. */
  readonly main: HTMLElement;
  /** What stays at the bottom, within reach of a thumb: what to do next. */
  readonly actions: HTMLElement;
  /** Aborted when the screen is left. */
  readonly signal: AbortSignal;
}

export interface Screen {
  readonly title: string;
  /** Whether it shows what the app is. */
  readonly mark?: boolean;
  /** One of those that the bar at the bottom leads to. */
  readonly tab?: TabName;
  /** Where the arrow leads. */
  readonly back?: string;
  /** Draws the screen, and goes on drawing until it is left. */
  open(place: Place): void;
}

/** Leads to another screen. `replace` leaves no way back to this one. */
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
