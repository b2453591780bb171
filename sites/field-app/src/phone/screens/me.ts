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
import { momentOf } from "../ui/dates.ts";

/** Creates the screen with the signed-in person and their sessions. */
export function meScreen(): Screen {
  return {
    title: signedInAs()?.displayName ?? "Me",
    tab: "me",
    open(place) {
      follow(place, { operation: ME }, ({ viewer, sessions }) => {
        const waiting = outbox().filter(({ state }) => state === "waiting").length;
        return [
          sessionsCard(sessions),
          titledCard("This app", facts(["Your day begins in", viewer.timeZone.replaceAll("_", " ")]), sandboxHint()),
          element(
            "section",
            { class: "last" },
            waiting > 0 &&
              notice(
                "warn",
                "clock",
                `Waiting to be sent: ${waiting}. The app keeps them on this phone until you sign in again. `,
                element("a", { href: PATHS.waiting }, "Show"),
              ),
            button("Sign out", signOut, "secondary"),
          ),
        ];
      });
    },
  };
}

function sessionsCard(sessions: readonly Session[]): HTMLElement {
  const list = element("ul", { class: "lines" });
  draw(sessions);
  return titledCard("Where you are signed in", list);

  function draw(shown: readonly Session[]): void {
    fill(list, ...shown.map((session) => sessionLine(session, draw)));
  }
}

function sessionLine(session: Session, draw: (sessions: readonly Session[]) => void): HTMLElement {
  const { id, deviceName, startedAt, refreshedAt, isCurrent } = session;
  const end = button(
    "End",
    async (pressed) => {
      const input = { idempotencyKey: uuid(), sessionId: id };
      const { result } = await ask(END_SESSION, { input });
      if (result.code !== undefined) return faultBelow(pressed, result.message);
      draw(result.sessions);
      showMessage("That session has ended.");
    },
    "secondary small",
  );
  return element(
    "li",
    {},
    icon("phoneDevice"),
    element(
      "span",
      {},
      deviceName ?? "Access token",
      element("small", {}, `Since ${momentOf(new Date(startedAt))}`),
      refreshedAt !== null && element("small", {}, `Last used ${momentOf(new Date(refreshedAt))}`),
    ),
    isCurrent ? pill({ text: "This one", tone: "tint" }) : end,
  );
}

function sandboxHint(): HTMLElement {
  return element("p", { class: "hint" }, "A sandbox: nothing here is real money. It uses only the public API.");
}
