import { caseScreen } from "./screens/case.ts";
import { caseListScreen } from "./screens/case-list.ts";
import { earningsScreen } from "./screens/earnings.ts";
import { startDay, syncDay } from "./data/day.ts";
import { forgetAnswers } from "./data/kept-answers.ts";
import { meScreen } from "./screens/me.ts";
import { outcomeScreen } from "./screens/outcome.ts";
import { flush, startOutbox } from "./data/outbox.ts";
import { askedLinkScreen, paymentLinkScreen } from "./screens/payment-link.ts";
import { startLanguage } from "./language/current.ts";
import { go, noteDepth, PATHS, type Screen } from "./ui/screen.ts";
import { onSessionEnd, signedInAs } from "./data/session.ts";
import { show, startShell } from "./ui/shell.ts";
import { signInScreen } from "./screens/sign-in.ts";
import { todayScreen } from "./screens/today.ts";
import { visitScreen } from "./screens/visit.ts";
import { waitingScreen } from "./screens/waiting.ts";

/** The screens by the URL's hash. The groups that a pattern captures are passed to its screen. */
const SCREENS: readonly (readonly [RegExp, (...parts: string[]) => Screen])[] = [
  [/^#\/cases$/, caseListScreen],
  [/^#\/money$/, earningsScreen],
  [/^#\/me$/, () => meScreen(showScreen)],
  [/^#\/waiting$/, waitingScreen],
  [/^#\/case\/([\w-]+)$/, caseScreen],
  [/^#\/case\/([\w-]+)\/visit$/, visitScreen],
  [/^#\/case\/([\w-]+)\/end(?:\/(\w+))?$/, outcomeScreen],
  [/^#\/case\/([\w-]+)\/link\/([\w-]+)$/, paymentLinkScreen],
  [/^#\/case\/([\w-]+)\/asked\/([\w-]+)$/, askedLinkScreen],
];

let shownTo: string | undefined;
startLanguage();
noteDepth();
startShell();
startOutbox();
startDay();
// Reacts to a sign-in or sign-out in another window of the app.
globalThis.addEventListener("storage", () => {
  if (signedInAs()?.fieldPartnerId === shownTo) return;
  if (signedInAs()) enter();
  else showScreen();
});
globalThis.addEventListener("hashchange", () => {
  noteDepth();
  showScreen();
});
onSessionEnd(() => {
  forgetAnswers();
  showScreen();
});
showScreen();
keepForOffline();

function showScreen(): void {
  shownTo = signedInAs()?.fieldPartnerId;
  if (!signedInAs()) return show(signInScreen({ enter, redraw: showScreen }));
  for (const [pattern, screen] of SCREENS) {
    const found = pattern.exec(location.hash);
    if (found) return show(screen(...found.slice(1)));
  }
  show(todayScreen());
}

/** Sends the user's actions that waited in the outbox for the sign-in, and shows the first screen. */
function enter(): void {
  void flush().then(() => syncDay());
  if (location.hash === PATHS.today) showScreen();
  else go(PATHS.today, "replace");
}

/** Makes the app open without a network, if the browser allows it: only for pages from https or from this machine. */
function keepForOffline(): void {
  if (!("serviceWorker" in navigator)) return;
  const base = document.documentElement.dataset["base"] ?? "";
  navigator.serviceWorker
    .register(`${base}/app/offline.js`, { scope: `${base}/app` })
    // Without the service worker everything works except opening the app offline.
    .catch(() => undefined);
}
