import { type Html, html } from "../html.ts";
import { lenderField, listTable, queryText } from "../list-parts.ts";
import type { PageContent } from "../page.ts";
import { casePath, deliveryPath } from "../paths.ts";
import type { PlayedScene, ScenesPage, SceneToPlay } from "../reads/connection.ts";
import { words } from "../words.ts";
import { messagePage } from "./message.ts";

interface SceneForm {
  readonly hidden: Html;
  readonly loan?: string;
  readonly scene?: string;
  readonly problem?: string;
}

/** The form that plays a scene on a loan, so that the lender's callback gets its events. */
export function sandboxPage(
  home: string,
  { lenderCodes, lenderCode, scenes }: ScenesPage,
  { hidden, loan = "", scene: chosen = scenes[0]?.scene, problem }: SceneForm,
): PageContent {
  return {
    title: "Sandbox",
    main: html`<h1>Play a scene</h1>
      <p class="about">
        A scene plays what field partners, the borrower and the lender would do on a loan. Everything runs as in
        production: the callback gets the events, the mint endpoint is called, and payments are booked.
      </p>
      <form method="post" action="${home}/sandbox" class="panel act scene-form">
        ${hidden} ${problem === undefined ? "" : html`<p class="problem" role="alert">${problem}</p>`}
        ${lenderCode === undefined ? html`<p role="status" class="empty">There is no such lender.</p>` : ""}
        <div class="choice">${lenderField(lenderCodes, lenderCode)}</div>
        <label for="loan">Loan</label>
        <input id="loan" name="loan" required maxlength="200" autocomplete="off" value="${loan}" />
        <fieldset class="scenes">
          <legend>Scene</legend>
          ${scenes.map(
            ({ scene, about, events }) =>
              html`<label>
                <input type="radio" name="scene" value="${scene}" ${scene === chosen ? html`checked` : html``} />
                <span><b>${sceneText(scene)}</b> ${about}. <small>${events}</small></span>
              </label>`,
          )}
        </fieldset>
        <p class="about">A case that somebody else has is first assigned to a field partner of the sandbox.</p>
        <p class="buttons"><button type="submit">Play the scene</button></p>
      </form>`,
  };
}

/** A scene that was played: its events, and why it ended early. */
export function playedPage(
  home: string,
  { lenderCode, scene }: SceneToPlay,
  { loan, stoppedBecause, events }: PlayedScene,
): PageContent {
  return {
    title: "Played",
    section: "Sandbox",
    main: html`<h1>${sceneText(scene)} on ${loan}</h1>
      ${
        stoppedBecause === null
          ? html`<p class="done" role="status">The scene was played to its end.</p>`
          : html`<p class="problem" role="status">The scene ended early: ${stoppedBecause}</p>`
      }
      <p class="about">The events in their order. A link leads to the delivery with the answer of the callback.</p>
      ${listTable({
        label: "Events",
        items: events,
        none: "The scene has caused no event.",
        columns: [
          {
            label: "Event",
            cell: ({ eventId, kind, what }) =>
              html`<a href="${home}${deliveryPath(eventId)}">${what}</a> <small>${kind}, ${eventId}</small>`,
          },
          { label: "Sequence", isNumber: true, cell: ({ sequence }) => String(sequence) },
        ],
      })}
      <p class="more">
        <a href="${home}/sandbox?${queryText({ lender: lenderCode, loan })}">Play another scene</a>
        <a href="${home}${casePath(lenderCode, loan)}">The case</a>
      </p>`,
  };
}

/** The page outside a sandbox. */
export function noSandboxPage(): PageContent {
  return messagePage("Not a sandbox", "Scenes are played only in a sandbox. This service is not one.");
}

function sceneText(scene: string): string {
  return words(scene.replaceAll("-", "_"));
}
