import type { ProviderAccess, ProviderOutcome, ProviderRefusal } from "../access.ts";
import { type Html, html } from "../html.ts";
import type { PageContent } from "../page.ts";

/**
 * The link that begins a sign-in at the provider. It is no form, because browsers apply the policy for forms to the
 * redirects after a form, too.
 */
export function providerLink(home: string, { host }: ProviderAccess): Html {
  return html`<p class="buttons"><a class="button" href="${home}/oidc">Sign in with ${host}</a></p>`;
}

/**
 * The page after a sign-in by the provider. The browser came from another site, so it sends the strict cookie of the session
 * only with the request that this page makes.
 */
export function signedInPage(home: string, name: string): PageContent {
  const title = "Signed in";
  return {
    title,
    continuesAt: home,
    main: html`<section class="message">
      <h1>${title}</h1>
      <p>
        You are signed in as ${name}. You stay signed in for twelve hours. The audit records what you do under this
        name.
      </p>
      <p><a href="${home}">Go on to the console</a></p>
    </section>`,
  };
}

/**
 * The page after a sign-out from the console, which goes on to the sign-out at the provider. Browsers apply the policy for
 * forms to the redirects after a form, too, so the form of the sign-out cannot lead there.
 */
export function leavingPage(home: string, { host }: ProviderAccess): PageContent {
  const title = "Signed out";
  return {
    title,
    continuesAt: `${home}/oidc/end-session`,
    main: html`<section class="message">
      <h1>${title}</h1>
      <p>You are signed out of the console. ${host} asks next whether you sign out there, too.</p>
      <p><a href="${home}/oidc/end-session">Go on to ${host}</a></p>
    </section>`,
  };
}

/** The page to which the provider sends the browser after a sign-out there. */
export function leftPage(home: string, provider: ProviderAccess): PageContent {
  const title = "Signed out";
  return {
    title,
    main: html`<section class="message">
      <h1>${title}</h1>
      <p>You are signed out of the console, and of ${provider.host} unless you chose to stay signed in there.</p>
      ${providerLink(home, provider)}
    </section>`,
  };
}

interface RefusalWords {
  readonly status: number;
  readonly title: string;
  readonly text: (host: string, detail: string) => string;
}

const WORDS: Readonly<Record<ProviderRefusal, RefusalWords>> = {
  expired: {
    status: 400,
    title: "This sign-in cannot be finished",
    text: (host) =>
      `A sign-in by ${host} works once, in the browser in which it began, and within ten minutes. Nobody was signed in.`,
  },
  not_signed_in: {
    status: 403,
    title: "Not signed in",
    text: (host, detail) => `${host} did not sign you in. Its reason: ${detail}.`,
  },
  invalid: {
    status: 403,
    title: "The sign-in was refused",
    text: (host) =>
      `The answer of ${host} is not valid, so nobody was signed in. The log of the service has the cause.`,
  },
  unavailable: {
    status: 503,
    title: "The sign-in provider cannot be used",
    text: (host) =>
      `${host} does not answer as expected. Try again in a moment. The log of the service has the cause. Whoever is signed in stays signed in.`,
  },
  no_name: {
    status: 403,
    title: "Your name is missing",
    text: (host, detail) =>
      detail === "email"
        ? `${host} gives no e-mail address of yours that it has verified, so the audit could not name you.`
        : `${host} gives no usable name in the claim ${detail}, so the audit could not name you.`,
  },
  no_role: {
    status: 403,
    title: "You have no role in this console",
    text: (host, detail) =>
      `${host} gives you none of the roles viewer, operator and money in the claim ${detail}. Ask the people who manage ${host}.`,
  },
};

/** Returns the page of a sign-in that the provider or the console has refused, and its status. */
export function refusedSignIn(
  home: string,
  provider: ProviderAccess,
  { reason, detail = "" }: Omit<Extract<ProviderOutcome, { kind: "refused" }>, "kind">,
): { page: PageContent; status: number } {
  const { status, title, text } = WORDS[reason];
  const main = html`<section class="message">
    <h1>${title}</h1>
    <p>${text(provider.host, detail.slice(0, 200))}</p>
    ${providerLink(home, provider)}
  </section>`;
  return { status, page: { title, main } };
}
