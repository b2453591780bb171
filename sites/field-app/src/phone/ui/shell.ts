import { element, fill } from "@collections/web-pages/browser";
import { icon, type IconName } from "./icon.ts";
import { onOutboxChange, outbox } from "../data/outbox.ts";
import { texts } from "../language/current.ts";
import { count } from "../language/formats.ts";
import { PATHS, type Screen, type TabName } from "./screen.ts";

const TABS = ["today", "cases", "money", "me"] as const satisfies readonly (TabName & IconName)[];

const MESSAGE_SHOWN_MS = 5_000;

const status = element("div", { class: "status-line", role: "status" });
const message = element("p", { class: "said", role: "status" });
let leave = new AbortController();
let messageTimer: number | undefined;

/** Keeps the status line of every screen up to date when the network or the outbox changes. */
export function startShell(): void {
  for (const event of ["online", "offline"]) globalThis.addEventListener(event, showStatus);
  onOutboxChange(showStatus);
}

/** Leaves the present screen and shows another one. */
export function show(screen: Screen): void {
  leave.abort();
  leave = new AbortController();
  const heading = element("h1", { tabindex: "-1" }, screen.title);
  const main = element("main", { class: "main" });
  const actions = element("div", { class: "actions" });
  const app = document.getElementById("app");
  if (!app) throw new TypeError("The page has no #app.");
  fill(
    app,
    status,
    element(
      "header",
      { class: screen.back === undefined ? "top root" : "top" },
      screen.mark === true && element("span", { class: "mark" }, icon("door")),
      screen.back !== undefined &&
        element("a", { class: "back", href: screen.back, "aria-label": texts().back }, icon("back")),
      heading,
    ),
    main,
    element("footer", { class: "bottom" }, actions, screen.tab && tabs(screen.tab)),
    message,
  );
  document.title = `${screen.title} · ${texts().app}`;
  showStatus();
  scrollTo(0, 0);
  screen.open({ main, actions, signal: leave.signal });
  // Moves the focus, so that screen readers announce the new screen.
  heading.focus({ preventScroll: true });
}

/** Shows a message above the present screen for a few seconds. */
export function showMessage(text: string): void {
  message.textContent = text;
  clearTimeout(messageTimer);
  messageTimer = setTimeout(() => {
    message.textContent = "";
  }, MESSAGE_SHOWN_MS);
}

function tabs(current: TabName): HTMLElement {
  const words = texts().tabs;
  const links = TABS.map((name) =>
    element(
      "a",
      { href: PATHS[name], "aria-current": name === current && "page" },
      icon(name),
      element("span", {}, words[name]),
    ),
  );
  return element("nav", { class: "tabs", "aria-label": words.label }, ...links);
}

/** Shows what waits for a network and what was refused, so that no work is lost unnoticed. */
function showStatus(): void {
  const waiting = outbox().filter(({ state }) => state === "waiting").length;
  const refused = outbox().filter(({ state }) => state === "refused").length;
  const isOffline = !navigator.onLine;
  const says = texts().status;
  const words = [
    isOffline && says.offline,
    waiting > 0 && says.toSend(waiting, count(waiting)),
    refused > 0 && says.refused(refused, count(refused)),
  ].filter((part) => part !== false);
  status.classList.toggle("shown", words.length > 0);
  status.classList.toggle("bad", refused > 0);
  const line = [icon(refused > 0 ? "alert" : isOffline ? "offline" : "clock"), element("span", {}, words.join(" · "))];
  if (words.length === 0) fill(status);
  else if (waiting + refused === 0) fill(status, element("div", {}, ...line));
  else fill(status, element("a", { href: PATHS.waiting }, ...line, element("span", { class: "more" }, says.show)));
}
