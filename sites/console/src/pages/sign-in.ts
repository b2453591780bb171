import type { ConsoleOperator, ProviderAccess } from "../access.ts";
import { html } from "../html.ts";
import type { PageContent } from "../page.ts";
import { providerLink } from "./provider.ts";

/** The page of a link. Only its button uses the link up, so programs that open links in mails do no harm. */
export function signInPage(link: { home: string; token: string; operator: ConsoleOperator }): PageContent {
  const { home, token, operator } = link;
  return {
    title: "Sign in",
    main: html`<section class="message">
      <h1>Sign in as ${operator.name}</h1>
      <p>
        ${
          operator.lenderCode === null
            ? html`Your roles: ${operator.roles.join(", ")}.`
            : html`You see the cases and the connection of ${operator.lenderCode}.`
        }
        You stay signed in for twelve hours. The audit records what you do under this name.
      </p>
      <form method="post" action="${home}/sign-in">
        <input type="hidden" name="link" value="${token}" />
        <button type="submit">Sign in</button>
      </form>
    </section>`,
  };
}

/** The page for a link that is unknown, used, revoked or expired. */
export function notUsablePage(home: string, provider: ProviderAccess | undefined): PageContent {
  const title = "This link cannot be used";
  return {
    title,
    main: html`<section class="message">
      <h1>${title}</h1>
      <p>
        A sign-in link is valid for five minutes and works once. This one was used, has expired, or was revoked. Ask for
        a new one. Somebody with access to the command line creates it:
      </p>
      <pre>pnpm collections operator link --name "Your name"</pre>
      <p>If you have just signed in with it, go on to the <a href="${home}">console</a>.</p>
      ${provider ? providerLink(home, provider) : ""}
    </section>`,
  };
}

/** The page after a sign-out. */
export function signedOutPage(home: string, provider: ProviderAccess | undefined): PageContent {
  const title = "Signed out";
  return {
    title,
    main: html`<section class="message">
      <h1>${title}</h1>
      <p>You are signed out. The sign-in link that you used cannot be used again.</p>
      ${
        provider
          ? html`<p>You may still be signed in at ${provider.host}. On a shared computer, sign out there, too.</p>
              ${providerLink(home, provider)}`
          : ""
      }
    </section>`,
  };
}
