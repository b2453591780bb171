import type { ConnectionPage } from "../desk.ts";
import { type Html, html } from "../html.ts";
import { factList } from "../list-parts.ts";
import type { PageContent } from "../page.ts";
import { countText, words } from "../words.ts";

/** The health of a lender's callback, and the age of the lender's API keys. */
export function connectionPage(home: string, { lenderCodes, connection }: ConnectionPage): PageContent {
  return {
    title: "Connection",
    main: html`<div class="head">
        <h1>Connection</h1>
        ${lenderCodes.length < 2 ? "" : lenderChoice(home, lenderCodes, connection?.lenderCode)}
      </div>
      ${connection ? partsOf(home, connection) : html`<p>${lenderCodes.length === 0 ? "There is no lender yet." : "There is no such lender."}</p>`}`,
  };
}

function lenderChoice(home: string, codes: readonly string[], chosen: string | undefined): Html {
  return html`<form method="get" action="${home}/connection" class="choice">
    <label for="lender">Lender</label>
    <select id="lender" name="lender">
      ${codes.map((code) => (code === chosen ? html`<option selected>${code}</option>` : html`<option>${code}</option>`))}
    </select>
    <button type="submit" class="plain">Show</button>
  </form>`;
}

function partsOf(home: string, connection: NonNullable<ConnectionPage["connection"]>): Html {
  const { lenderCode, timeZone, endpoint, isHealthy, keys } = connection;
  return html`<p class="about">${lenderCode}. Times in ${timeZone}.</p>
    <div class="panels">
      <section class="panel">
        <h2>Callback <span class="state">${isHealthy ? "Healthy" : "Needs attention"}</span></h2>
        ${factList(endpoint.map(([name, value]) => [words(name), value]))}
        <p class="about"><a href="${home}/deliveries">Deliveries</a></p>
      </section>
      <section class="panel">
        <h2 id="keys">API keys</h2>
        <table class="texts" aria-labelledby="keys">
          <thead>
            <tr>
              <th scope="col">Key</th>
              <th scope="col">State</th>
              <th scope="col">Age in days</th>
              <th scope="col">Last used</th>
            </tr>
          </thead>
          <tbody>
            ${keys.map(
              ({ keyId, state, days, lastUsedAt, isSigning }) =>
                html`<tr>
                  <th scope="row">${keyId}</th>
                  <td>${words(state)}${isSigning ? ", signs webhooks" : ""}</td>
                  <td>${countText(days)}</td>
                  <td>${lastUsedAt}</td>
                </tr>`,
            )}
          </tbody>
        </table>
      </section>
    </div>`;
}
