import { actForm, type Typed } from "../../act-form.ts";
import { type Html, html } from "../../html.ts";
import type { PageContent } from "../../page.ts";
import { connectionForm, connectionPath } from "../../paths.ts";
import type { SettingsView, TypedSettings } from "../../reads/connection.ts";

const SHOWN = "shown_";
const FIELDS = ["callbackUrl", "mintLinkUrl", "technicalContacts"] as const satisfies readonly (keyof TypedSettings)[];

/** The form that changes a lender's settings. The header of mint calls is a secret, so it is never shown. */
export function settingsPage(
  home: string,
  { lenderCode, settings: shown, hasMintAuthHeader }: SettingsView,
  { hidden, settings = shown, ...typed }: Typed & { readonly hidden: Html; readonly settings?: TypedSettings },
): PageContent {
  return {
    title: "Settings",
    section: "Connection",
    main: html`<section class="message wide settings">
      <h1>Settings of ${lenderCode}</h1>
      ${actForm({
        ...typed,
        home,
        path: connectionForm(lenderCode, "settings"),
        hidden: html`${hidden}
        ${FIELDS.map((name) => html`<input type="hidden" name="${SHOWN}${name}" value="${shown[name]}" />`)}`,
        fields: html`<label for="callbackUrl">Callback URL</label>
          <input
            id="callbackUrl"
            name="callbackUrl"
            type="url"
            maxlength="2000"
            autocomplete="off"
            aria-describedby="callback-note"
            value="${settings.callbackUrl}"
          />
          <p id="callback-note" class="about">It receives all events. Empty: events wait.</p>
          <label for="mintLinkUrl">Mint URL</label>
          <input
            id="mintLinkUrl"
            name="mintLinkUrl"
            type="url"
            maxlength="2000"
            autocomplete="off"
            aria-describedby="mint-note"
            value="${settings.mintLinkUrl}"
          />
          <p id="mint-note" class="about">It makes payment links. Empty: borrowers get the fallback.</p>
          <label for="mintAuthHeader">New header of mint calls (optional)</label>
          <input
            id="mintAuthHeader"
            name="mintAuthHeader"
            type="password"
            maxlength="4000"
            autocomplete="new-password"
            placeholder="Name: value"
            aria-describedby="header-note"
          />
          <p id="header-note" class="about">
            ${
              hasMintAuthHeader
                ? "A header is set. It is never shown. Empty: it stays as it is."
                : "Sent with each mint call, and never shown again. No header is set."
            }
          </p>
          ${
            hasMintAuthHeader
              ? html`<label class="option">
                  <input type="checkbox" name="removeMintAuthHeader" value="on" /> Remove the header
                </label>`
              : ""
          }
          <label for="technicalContacts">Technical contacts, one e-mail address a line</label>
          <textarea
            id="technicalContacts"
            name="technicalContacts"
            rows="3"
            maxlength="4000"
            aria-describedby="contacts-note"
          >
${settings.technicalContacts}</textarea>
          <p id="contacts-note" class="about">They get an e-mail when the callback fails.</p>`,
        needsReason: false,
        reasonNote:
          "The audit keeps the reason, and the old and new values. For the header it keeps only that it was changed.",
        button: "Save the settings",
        back: connectionPath(lenderCode),
      })}
    </section>`,
  };
}

/** A sent form of settings. */
export interface SentSettings {
  /** The settings that the form had shown. */
  readonly shown: TypedSettings;
  readonly wanted: TypedSettings;
  readonly mintAuthHeader: string | null | undefined;
}

/** Reads a sent form of settings. */
export function settingsIn(form: URLSearchParams): SentSettings {
  const text = (name: string) => (form.get(name) ?? "").replaceAll("\r\n", "\n").trim();
  const read = (prefix: string) =>
    Object.fromEntries(FIELDS.map((name) => [name, text(prefix + name)])) as unknown as TypedSettings;
  const header = text("mintAuthHeader");
  const removed = form.get("removeMintAuthHeader") === null ? undefined : null;
  return { shown: read(SHOWN), wanted: read(""), mintAuthHeader: header === "" ? removed : header };
}

/** Returns the values of a form that is shown again: a setting that was not edited has its present value. */
export function settingsAgain({ shown, wanted }: SentSettings, present: TypedSettings): TypedSettings {
  const value = (name: keyof TypedSettings) => (wanted[name] === shown[name] ? present[name] : wanted[name]);
  return Object.fromEntries(FIELDS.map((name) => [name, value(name)])) as unknown as TypedSettings;
}
