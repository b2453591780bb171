import type { ProviderAccess } from "../access.ts";
import { html } from "../html.ts";
import type { PageContent } from "../page.ts";
import { providerLink } from "./provider.ts";

/** A page with one message. */
export function messagePage(title: string, text: string): PageContent {
  return {
    title,
    main: html`<section class="message">
      <h1>${title}</h1>
      <p>${text}</p>
    </section>`,
  };
}

/** The page for a request without an open session. */
export function needsSessionPage(home: string, provider: ProviderAccess | undefined): PageContent {
  const title = "Sign in";
  return {
    title,
    main: html`<section class="message">
      <h1>${title}</h1>
      <p>You are not signed in, or your session has ended.</p>
      ${provider ? providerLink(home, provider) : ""}
      <p>
        ${provider ? "You can also ask" : "Ask"} for a new sign-in link. Somebody with access to the command line
        creates it:
      </p>
      <pre>pnpm collections operator link --name "Your name"</pre>
      <p>The staff of a lender gets a link from the lender's back office or from the operator.</p>
      <p>
        The link is valid for five minutes and works once. If you came from another site and are signed in, open this
        page again from the address bar.
      </p>
    </section>`,
  };
}
