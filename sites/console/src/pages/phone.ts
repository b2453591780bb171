import { actForm, type Typed } from "../act-form.ts";
import type { PersonSummary } from "../desk.ts";
import { type Html, html } from "../html.ts";
import type { PageContent } from "../page.ts";
import { personPath } from "../paths.ts";

interface PhoneForm extends Typed {
  readonly hidden: Html;
  readonly phone?: string;
  readonly isDone?: boolean;
}

/** The form that gives a field partner a new phone number. */
export function phonePage(
  home: string,
  person: PersonSummary,
  { hidden, phone = "", isDone = false, ...typed }: PhoneForm,
): PageContent {
  const { fieldPartnerId, displayName } = person;
  return {
    title: "New phone number",
    section: "Field partners",
    main: html`<section class="message">
      <h1>New phone number</h1>
      ${isDone ? html`<p class="done" role="status">${displayName} now has the phone ${person.phone}.</p>` : ""}
      <p>
        ${displayName} has the phone ${person.phone}. The person signs in with the new number from now on, and stays
        signed in on the present phone. If that phone was lost or stolen, suspend the person and resume them.
      </p>
      ${actForm({
        ...typed,
        home,
        path: personPath(fieldPartnerId, "phone"),
        hidden,
        fields: html`<label for="phone">New phone number</label>
          <input
            id="phone"
            name="phone"
            type="tel"
            required
            maxlength="30"
            autocomplete="off"
            placeholder="+919800000001"
            value="${phone}"
          />`,
        needsReason: true,
        reasonNote: "The audit keeps the reason.",
        button: "Change the phone number",
        back: personPath(fieldPartnerId),
      })}
    </section>`,
  };
}
