import type { ConsoleOperator, ConsoleRole } from "./access.ts";
import { FORM_TOKEN } from "./form-check.ts";
import { type Html, html } from "./html.ts";

/** The content of a page; `consolePage` adds the frame. */
export interface PageContent {
  readonly title: string;
  /** The entry of the menu to which the page belongs. By default the entry with the title. */
  readonly section?: string;
  /** The HTML of the main part, including its h1. */
  readonly main: Html;
  /** The path of the page that the browser opens next, without a click. */
  readonly continuesAt?: string;
  /** After how many seconds browsers load the page again. */
  readonly reloadAfterSeconds?: number;
}

/** The frame of a page. */
export interface PageFrame {
  readonly home: string;
  /** Undefined on pages that need no session. They have no menu. */
  readonly signedIn?: {
    readonly operator: ConsoleOperator;
    readonly formToken: string;
    readonly isSandbox: boolean;
  };
}

interface MenuEntry {
  readonly path: string;
  readonly label: string;
  readonly isForLenders: boolean;
  /** The role that an operator needs. Undefined if every role may open the page. */
  readonly role?: ConsoleRole;
  readonly isForSandboxes?: boolean;
}

const MENU: readonly MenuEntry[] = [
  { path: "", label: "Today", isForLenders: true },
  { path: "/search", label: "Search", isForLenders: true },
  { path: "/cases", label: "Cases", isForLenders: true },
  { path: "/payments", label: "Payments", isForLenders: true },
  { path: "/reconciliations", label: "Reconciliations", isForLenders: true },
  { path: "/field-partners", label: "Field partners", isForLenders: false },
  { path: "/lenders", label: "Lenders", isForLenders: false },
  { path: "/deliveries", label: "Deliveries", isForLenders: true },
  { path: "/uploads", label: "Import", isForLenders: true, role: "operator" },
  { path: "/connection", label: "Connection", isForLenders: true },
  { path: "/sandbox", label: "Sandbox", isForLenders: true, role: "operator", isForSandboxes: true },
  { path: "/money", label: "Money", isForLenders: false },
  { path: "/audit", label: "Audit", isForLenders: false },
  { path: "/system", label: "System", isForLenders: false },
];

/** A tick on a square. It is embedded, so that a page loads no image. */
const ICON = `data:image/svg+xml,${encodeURIComponent(
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#0b6b63"/>` +
    `<path d="M9 17.5l4.5 4.5L23 11" fill="none" stroke="#fff" stroke-width="3.5" stroke-linecap="round"/></svg>`,
)}`;

/** Returns a complete page. */
export async function consolePage(
  { title, section = title, main, continuesAt }: PageContent,
  { home, signedIn }: PageFrame,
): Promise<string> {
  const isPortal = signedIn !== undefined && signedIn.operator.lenderCode !== null;
  const page = await html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <meta name="robots" content="noindex" />
        ${continuesAt === undefined ? "" : html`<meta http-equiv="refresh" content="0; url='${continuesAt}'" />`}
        <title>${title} · ${isPortal ? "Portal" : "Console"}</title>
        <link rel="icon" href="${ICON}" />
        <link rel="stylesheet" href="${home}/console.css" />
      </head>
      <body>
        <a class="skip" href="#main">Skip to the content</a>
        <header class="top">
          <a class="brand" href="${home}">Partner Collections <span>${isPortal ? "portal" : "console"}</span></a>
          ${signedIn ? menu(home, section, signedIn) : ""}
        </header>
        <main id="main" tabindex="-1">${main}</main>
      </body>
    </html>`;
  return page.toString();
}

function menu(
  home: string,
  section: string,
  { operator, formToken, isSandbox }: NonNullable<PageFrame["signedIn"]>,
): Html {
  const isShown = ({ isForLenders, role, isForSandboxes = false }: MenuEntry) => {
    if (isForSandboxes && !isSandbox) return false;
    return operator.lenderCode === null ? role === undefined || operator.roles.includes(role) : isForLenders;
  };
  const entries = MENU.filter(isShown).map(
    ({ path, label }) =>
      html`<a href="${home}${path}" aria-current="${label === section ? "page" : "false"}">${label}</a>`,
  );
  return html`<form class="person" method="post" action="${home}/sign-out">
      <input type="hidden" name="${FORM_TOKEN}" value="${formToken}" />
      <span title="${[operator.name, ...(operator.lenderCode === null ? operator.roles : [])].join(", ")}"
        >${operator.name}</span
      >
      <button type="submit" class="plain">Sign out</button>
    </form>
    <nav aria-label="${operator.lenderCode === null ? "Console" : "Portal"}">${entries}</nav>`;
}
