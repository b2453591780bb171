import { type Html, html } from "../../html.ts";
import { factList, healthMark, lenderForm, listTable, queryText } from "../../list-parts.ts";
import type { PageContent } from "../../page.ts";
import { connectionForm, keyPath } from "../../paths.ts";
import type { ConnectionPage } from "../../reads/connection.ts";
import { capitalized, countText, words } from "../../words.ts";
import { keyDoneText, keyOrderLabel } from "./api-key.ts";

type Connection = NonNullable<ConnectionPage["connection"]>;

interface ConnectionParts {
  /** Returns the hidden fields of a form. Undefined for a person who may change nothing. */
  readonly hidden: (() => Html) | undefined;
  readonly done?: string | null;
  readonly problem?: string;
}

/** The callback, the mint endpoint, the contacts and the API keys of a lender, with their forms. */
export function connectionPage(
  home: string,
  { lenderCodes, connection }: ConnectionPage,
  parts: ConnectionParts,
): PageContent {
  return {
    title: "Connection",
    main: html`<div class="head">
        <h1>Connection</h1>
        ${lenderForm({ home, path: "/connection" }, lenderCodes, connection?.lenderCode)}
      </div>
      ${connection ? partsOf(home, connection, parts) : html`<p>${lenderCodes.length === 0 ? "There is no lender yet." : "There is no such lender."}</p>`}`,
  };
}

function partsOf(home: string, connection: Connection, { hidden, done, problem }: ConnectionParts): Html {
  const { lenderCode, timeZone } = connection;
  const doneText = done === "settings" ? "The settings are saved." : keyDoneText(done);
  return html`<p class="about">${lenderCode}. Times in ${timeZone}.</p>
    ${problem === undefined ? "" : html`<p class="problem" role="alert">${problem}</p>`}
    ${doneText === undefined ? "" : html`<p class="done" role="status">${doneText}</p>`}
    ${
      hidden
        ? html`<p class="acts">
            <a href="${home}${connectionForm(lenderCode, "settings")}">Change the settings</a>
            <a href="${home}${connectionForm(lenderCode, "keys")}">Create a key</a>
          </p>`
        : ""
    }
    <div class="panels">
      ${callbackPanel(home, connection, hidden)}
      <div>${mintPanel(home, connection, hidden !== undefined)} ${contactsPanel(connection)}</div>
    </div>
    ${keysPanel(home, connection, hidden !== undefined)}`;
}

function callbackPanel(
  home: string,
  { lenderCode, endpoint, isHealthy, hasCallback }: Connection,
  hidden: (() => Html) | undefined,
): Html {
  return html`<section class="panel">
    <h2>Callback ${healthMark(isHealthy)}</h2>
    ${factList(endpoint.map(([name, value]) => [words(name), name === "state" ? words(value) : value]))}
    <p class="about">
      <a href="${home}/deliveries?${queryText({ lender: lenderCode })}">Deliveries</a>
      <a href="${home}/requests?${queryText({ lender: lenderCode })}">Requests</a>
    </p>
    ${
      hidden && hasCallback
        ? html`<form class="acts" method="post" action="${home}${connectionForm(lenderCode, "callback-test")}">
            ${hidden()} <button type="submit" class="plain">Send a test call</button>
          </form>`
        : ""
    }
  </section>`;
}

function mintPanel(home: string, { lenderCode, mint }: Connection, mayTest: boolean): Html {
  return html`<section class="panel">
    <h2>Payment links</h2>
    ${factList([
      ["Mint URL", mint.url ?? "None is registered"],
      ["Header", words(mint.header)],
    ])}
    ${
      mayTest && mint.url !== null
        ? html`<p class="acts"><a href="${home}${connectionForm(lenderCode, "mint-test")}">Mint a test link</a></p>`
        : ""
    }
  </section>`;
}

function contactsPanel({ technicalContacts }: Connection): Html {
  return html`<section class="panel">
    <h2>Technical contacts</h2>
    ${
      technicalContacts.length === 0
        ? html`<p class="empty">Nobody gets an e-mail when the callback fails.</p>`
        : html`<ul class="contacts">
            ${technicalContacts.map((contact) => html`<li>${contact}</li>`)}
          </ul>`
    }
  </section>`;
}

function keysPanel(home: string, { lenderCode, keys }: Connection, mayChange: boolean): Html {
  type Key = Connection["keys"][number];
  const stateOf = ({ state, endsAt, isSigning }: Key) =>
    [words(state), endsAt === null ? "" : `ends ${endsAt}`, isSigning ? "signs webhooks" : ""]
      .filter(Boolean)
      .join(", ");
  const links = (key: Key) =>
    key.orders.map(
      (order) =>
        html`<a href="${home}${keyPath({ lenderCode, keyId: key.keyId }, order)}">${keyOrderLabel(order)}</a> `,
    );
  return html`<section class="panel">
    <h2>API keys</h2>
    ${listTable({
      label: "API keys",
      items: keys,
      none: "The lender has no key.",
      columns: [
        { label: "Key", cell: ({ keyId }) => html`<code>${keyId}</code>` },
        { label: "State", cell: stateOf },
        { label: "Age in days", isNumber: true, cell: ({ days }) => countText(days) },
        { label: "Last used", cell: ({ lastUsedAt }) => capitalized(lastUsedAt) },
        ...(mayChange ? [{ label: "Change", cell: (key: Key) => html`<span class="links">${links(key)}</span>` }] : []),
      ],
    })}
  </section>`;
}
