import { actForm, type Typed } from "../../act-form.ts";
import { type Html, html } from "../../html.ts";
import { factList } from "../../list-parts.ts";
import type { PageContent } from "../../page.ts";
import { connectionForm, connectionPath, keyPath } from "../../paths.ts";
import { type CreatedKey, KEY_ORDERS, type KeyOrderKind, type KeyView } from "../../reads/connection.ts";
import { words } from "../../words.ts";
import { messagePage } from "../message.ts";

interface OrderWords {
  readonly label: string;
  readonly title: string;
  readonly effect: string;
  readonly done: string;
  readonly needsReason: boolean;
}

const WORDS: Readonly<Record<KeyOrderKind, OrderWords>> = {
  sign: {
    label: "Sign with it",
    title: "Sign with this key",
    effect:
      "Webhooks and mint calls are signed with this key from now on. The systems that verify them need its secret first.",
    done: "The key signs webhooks and mint calls from now on.",
    needsReason: false,
  },
  retire: {
    label: "Retire",
    title: "Retire the key",
    effect: "The key stays valid until the time below. All requests have to be signed with another key before then.",
    done: "The key has an end.",
    needsReason: true,
  },
  revoke: {
    label: "Revoke",
    title: "Revoke the key",
    effect: "The key ends now: within a second it is refused everywhere. This cannot be undone.",
    done: "The key is revoked.",
    needsReason: true,
  },
};

/** Returns the label of the link to an order. */
export function keyOrderLabel(order: KeyOrderKind): string {
  return WORDS[order].label;
}

/** Returns the sentence that confirms an order, or undefined. */
export function keyDoneText(done: string | null | undefined): string | undefined {
  const order = KEY_ORDERS.find((one) => one === done);
  return order && WORDS[order].done;
}

/** Whether an order needs a reason. */
export function keyNeedsReason(order: KeyOrderKind): boolean {
  return WORDS[order].needsReason;
}

/** The form of an order for an API key. */
export function keyOrderPage(
  home: string,
  view: KeyView,
  {
    order,
    hidden,
    at = "",
    ...typed
  }: Typed & { readonly order: KeyOrderKind; readonly hidden: Html; readonly at?: string },
): PageContent {
  const { lenderCode, keyId, state, isSigning, endsAt, timeZone } = view;
  const { title, effect, needsReason } = WORDS[order];
  return {
    title,
    section: "Connection",
    main: html`<section class="message">
      <h1>${title}</h1>
      ${factList([
        ["Lender", lenderCode],
        ["Key", html`<code>${keyId}</code>`],
        ["State", `${words(state)}${isSigning ? ", signs webhooks" : ""}`],
        ...(endsAt === null ? [] : [["Ends", endsAt] as const]),
      ])}
      <p>${effect}</p>
      ${actForm({
        ...typed,
        home,
        path: keyPath(view, order),
        hidden,
        fields:
          order === "retire"
            ? html`<label for="at">When the key ends, in ${timeZone}</label>
                <input id="at" name="at" type="datetime-local" required value="${at}" />`
            : html``,
        needsReason,
        reasonNote: "The audit keeps the reason.",
        button: title,
        back: connectionPath(lenderCode),
      })}
    </section>`,
  };
}

/** The page that asks before an API key is created. */
export function newKeyPage(
  home: string,
  lenderCode: string,
  { hidden, problem }: { readonly hidden: Html; readonly problem?: string },
): PageContent {
  return {
    title: "Create a key",
    section: "Connection",
    main: html`<section class="message">
      <h1>Create a key</h1>
      <p>
        ${lenderCode} gets another API key. The next page shows its secret once: be ready to store it. Older keys stay
        valid, and one of them signs webhooks until the new key is first used.
      </p>
      <form method="post" action="${home}${connectionForm(lenderCode, "keys")}" class="act">
        ${hidden} ${problem === undefined ? "" : html`<p class="problem" role="alert">${problem}</p>`}
        <p class="buttons">
          <button type="submit">Create the key</button> <a href="${home}${connectionPath(lenderCode)}">Cancel</a>
        </p>
      </form>
    </section>`,
  };
}

/** The only page that shows the secret of an API key. */
export function createdKeyPage(home: string, lenderCode: string, { keyId, secret, signedBy }: CreatedKey): PageContent {
  return {
    title: "The new key",
    section: "Connection",
    main: html`<section class="message wide">
      <h1>The new key of ${lenderCode}</h1>
      <p class="warning" role="status">
        Store the secret now. Only this page shows it, and only once. Nobody can read it again.
      </p>
      <h2 id="key-id">API key id</h2>
      <pre aria-labelledby="key-id">${keyId}</pre>
      <h2 id="secret">HMAC secret</h2>
      <pre aria-labelledby="secret">${secret}</pre>
      <p>
        ${
          signedBy === keyId
            ? "This key signs webhooks from now on."
            : `Webhooks are signed with ${signedBy ?? "no key"} until this key is first used. Then retire the old key.`
        }
        If the secret is lost, revoke the key and create another one.
      </p>
      <p class="buttons"><a class="button" href="${home}${connectionPath(lenderCode)}">I have stored the secret</a></p>
    </section>`,
  };
}

/** The page for a key that the lender does not have. */
export function noKeyPage(): PageContent {
  return messagePage("Key not found", "The lender has no such key. The page Connection lists its keys.");
}
