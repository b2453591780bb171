import { randomUUID } from "node:crypto";
import { FORM_ID, FORM_TOKEN, formTokenOf } from "./form-check.ts";
import { type Html, html } from "./html.ts";

const MAX_REASON_CHARACTERS = 500;

/** Returns the hidden fields of a form: the session's token, and an id with which the form can be used once. */
export function hiddenFields(sessionToken: string): Html {
  return html`<input type="hidden" name="${FORM_TOKEN}" value="${formTokenOf(sessionToken)}" />
    <input type="hidden" name="${FORM_ID}" value="${randomUUID()}" />`;
}

/** The values that an operator has typed into a form, and the reason why the form was refused. */
export interface Typed {
  /** A sentence for people; undefined if the form was not sent yet. */
  readonly problem?: string | undefined;
  readonly reason?: string | undefined;
}

/** A form that changes something. */
export interface ActForm extends Typed {
  readonly home: string;
  /** The path to which the form is sent, below the path of the console. */
  readonly path: string;
  readonly hidden: Html;
  /** The fields of the form, except the reason. */
  readonly fields?: Html;
  readonly needsReason: boolean;
  /** A sentence that says who sees the reason. */
  readonly reasonNote: string;
  readonly button: string;
  /** The path of the page that the operator came from, below the path of the console. Undefined for a form on that page. */
  readonly back?: string;
}

/** Returns a form with its problem, its fields and a reason. */
export function actForm({ home, path, hidden, fields, problem, ...rest }: ActForm): Html {
  const { reason = "", needsReason, reasonNote, button, back } = rest;
  return html`<form method="post" action="${home}${path}" class="act">
    ${hidden} ${problem === undefined ? "" : html`<p class="problem" role="alert">${problem}</p>`} ${fields ?? ""}
    <label for="reason">Reason${needsReason ? "" : " (optional)"}</label>
    <input
      id="reason"
      name="reason"
      maxlength="${MAX_REASON_CHARACTERS}"
      autocomplete="off"
      aria-describedby="reason-note"
      value="${reason}"
      ${needsReason ? html`required` : ""}
    />
    <p id="reason-note" class="about">${reasonNote}</p>
    <p class="buttons">
      <button type="submit">${button}</button> ${back === undefined ? "" : html`<a href="${home}${back}">Cancel</a>`}
    </p>
  </form>`;
}

/** Reads the reason of a form. Returns a problem if it is missing, too long, or has control characters. */
export function reasonIn(form: URLSearchParams, needsReason: boolean): { reason: string; problem?: string } {
  const reason = (form.get("reason") ?? "").normalize().trim();
  if (reason === "" && needsReason) return { reason, problem: "Give a reason." };
  if (reason.length > MAX_REASON_CHARACTERS || /[\p{Cc}\p{Cs}]/u.test(reason)) {
    return { reason, problem: `A reason has at most ${MAX_REASON_CHARACTERS} characters, on one line.` };
  }
  return { reason };
}
