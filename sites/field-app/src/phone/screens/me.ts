import type { Session } from "../data/answers.ts";
import { element, fill } from "@collections/web-pages/browser";
import { follow } from "../ui/follow.ts";
import { icon } from "../ui/icon.ts";
import { END_SESSION, ME } from "../data/operations.ts";
import { outbox } from "../data/outbox.ts";
import { button, facts, faultBelow, notice, pill, titledCard } from "../ui/parts.ts";
import { PATHS, type Screen } from "../ui/screen.ts";
import { ask, signedInAs, signOut } from "../data/session.ts";
import { showMessage } from "../ui/shell.ts";
import { uuid } from "../data/uuid.ts";
import { texts } from "../language/current.ts";
import { count, momentOf } from "../language/formats.ts";
import { refusalWords } from "../ui/error-words.ts";
import { languageChoice } from "../ui/language-choice.ts";

/** Creates the screen with the signed-in person, their sessions, and the language. `redraw` shows the screen again. */
export function meScreen(redraw: () => void): Screen {
  return {
    title: signedInAs()?.displayName ?? texts().tabs.me,
    tab: "me",
    open(place) {
      follow(place, { operation: ME }, ({ viewer, sessions }) => {
        const words = texts().me;
        const waiting = outbox().filter(({ state }) => state === "waiting").length;
        return [
          sessionsCard(sessions),
          titledCard(
            words.app,
            facts([words.dayBegins, viewer.timeZone.replaceAll("_", " ")]),
            languageChoice(redraw),
            element("p", { class: "hint" }, words.sandbox),
          ),
          element(
            "section",
            { class: "last" },
            waiting > 0 &&
              notice(
                "warn",
                "clock",
                `${words.waiting(waiting, count(waiting))} `,
                element("a", { href: PATHS.waiting }, words.show),
              ),
            button(words.signOut, signOut, "secondary"),
          ),
        ];
      });
    },
  };
}

function sessionsCard(sessions: readonly Session[]): HTMLElement {
  const list = element("ul", { class: "lines" });
  draw(sessions);
  return titledCard(texts().me.signedIn, list);

  function draw(shown: readonly Session[]): void {
    fill(list, ...shown.map((session) => sessionLine(session, draw)));
  }
}

function sessionLine(session: Session, draw: (sessions: readonly Session[]) => void): HTMLElement {
  const { id, deviceName, startedAt, refreshedAt, isCurrent } = session;
  const words = texts().me;
  const device = deviceName ?? words.accessToken;
  const end = button(
    words.end,
    async (pressed) => {
      const input = { idempotencyKey: uuid(), sessionId: id };
      const { result } = await ask(END_SESSION, { input });
      if (result.code !== undefined) return faultBelow(pressed, refusalWords(result));
      draw(result.sessions);
      showMessage(words.ended);
    },
    "secondary small",
  );
  end.querySelector("button")?.setAttribute("aria-label", words.endOf(device));
  return element(
    "li",
    {},
    icon("phoneDevice"),
    element(
      "span",
      {},
      device,
      element("small", {}, words.since(momentOf(new Date(startedAt)))),
      refreshedAt !== null && element("small", {}, words.lastUsed(momentOf(new Date(refreshedAt)))),
    ),
    isCurrent ? pill({ text: words.thisOne, tone: "tint" }) : end,
  );
}
