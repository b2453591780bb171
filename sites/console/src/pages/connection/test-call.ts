import { type Html, html } from "../../html.ts";
import type { PageContent } from "../../page.ts";
import { connectionForm, connectionPath } from "../../paths.ts";
import type { TestedCall } from "../../reads/connection.ts";

/** The typed values of a mint test, and the reason why it was refused. */
interface TypedMintTest {
  readonly hidden: Html;
  readonly loan?: string;
  readonly amount?: string;
  readonly problem?: string;
}

/** The form that mints a test link. */
export function mintTestPage(
  home: string,
  lenderCode: string,
  { hidden, loan = "", amount = "1", problem }: TypedMintTest,
): PageContent {
  return {
    title: "Mint a test link",
    section: "Connection",
    main: html`<section class="message">
      <h1>Mint a test link</h1>
      <p>
        The mint endpoint of ${lenderCode} is called once, with the name and the phone number of the loan's borrower.
        The link is not stored and not sent. It exists at the lender: cancel it there.
      </p>
      <form method="post" action="${home}${connectionForm(lenderCode, "mint-test")}" class="act">
        ${hidden} ${problem === undefined ? "" : html`<p class="problem" role="alert">${problem}</p>`}
        <label for="loan">Loan</label>
        <input id="loan" name="loan" required maxlength="200" autocomplete="off" value="${loan}" />
        <label for="amount">Amount of the link, in the currency of the case</label>
        <input
          id="amount"
          name="amount"
          required
          maxlength="30"
          inputmode="decimal"
          autocomplete="off"
          value="${amount}"
        />
        <p class="buttons">
          <button type="submit">Call the mint endpoint</button>
          <a href="${home}${connectionPath(lenderCode)}">Cancel</a>
        </p>
      </form>
    </section>`,
  };
}

/** The result of a test call: what was sent, what was answered, and what to do about a failure. */
export function testedPage(
  home: string,
  lenderCode: string,
  { title, again, call }: { readonly title: string; readonly again: string; readonly call: TestedCall },
): PageContent {
  const { isAnswered, headline, request, answer, failure } = call;
  return {
    title,
    section: "Connection",
    main: html`<section class="message wide">
      <h1>${title}</h1>
      <p class="${isAnswered ? "done" : "problem"}" role="status">${headline}</p>
      ${
        failure
          ? html`<div class="failure">
              <p><b>Cause:</b> ${failure.cause}</p>
              <p><b>Remedy:</b> ${failure.remedy}</p>
            </div>`
          : ""
      }
      <h2 id="request">Request</h2>
      <pre aria-labelledby="request">${request}</pre>
      <h2 id="answer">Answer</h2>
      <pre aria-labelledby="answer">${answer}</pre>
      <p class="buttons">
        <a href="${home}${connectionPath(lenderCode)}">Connection</a> <a href="${home}${again}">Test again</a>
      </p>
    </section>`,
  };
}
