import type { ConsoleOperator } from "../access.ts";
import { type Html, html } from "../html.ts";
import { choices, factList, filters, listTable, nextPage, queryText, textField } from "../list-parts.ts";
import type { PageContent } from "../page.ts";
import { personPath } from "../paths.ts";
import type { Owed, PeoplePage, PeopleSearch, PersonView } from "../reads/field-partners.ts";
import { amountsText, countText, words } from "../words.ts";
import { messagePage } from "./message.ts";

const STATES = ["active", "suspended"] as const;

/** Reads the filters from a query. The desk ignores values that it does not know. */
export function peopleSearchOf(query: URLSearchParams): PeopleSearch {
  const field = (name: string) => query.get(name)?.trim().slice(0, 200) || undefined;
  return { text: field("text"), state: field("state"), after: field("after") };
}

/** The field partners, in the order of their registration. */
export function peoplePage(home: string, { text, state }: PeopleSearch, { people, next }: PeoplePage): PageContent {
  const at = { home, path: "/field-partners" };
  return {
    title: "Field partners",
    main: html`<h1>Field partners</h1>
      ${filters(
        at,
        {
          set: [text !== undefined && `“${text}”`, STATES.find((one) => one === state)],
          clear: "",
        },
        html`<form method="get" action="${home}/field-partners" class="choice">
            ${textField("Name or end of the phone", text)}
            ${state === undefined ? "" : html`<input type="hidden" name="state" value="${state}" />`}
            <button type="submit" class="plain">Show</button>
          </form>
          ${choices(at, {
            label: "State",
            chosen: state,
            options: STATES.map((one) => [one, words(one)]),
            queryOf: (one) => queryText({ text, state: one }),
          })}`,
      )}
      ${listTable({
        label: "Field partners",
        items: people,
        none: "No field partner matches. Show all states, or search for a part of the name.",
        columns: [
          {
            label: "Name",
            cell: ({ fieldPartnerId, displayName }) =>
              html`<a href="${home}${personPath(fieldPartnerId)}">${displayName}</a>`,
          },
          { label: "Phone", isShort: true, cell: ({ phone }) => phone },
          { label: "State", cell: (one) => html`<span class="state">${words(one.state)}</span>` },
          { label: "Open cases", isNumber: true, cell: ({ openCases }) => countText(openCases) },
          { label: "To pay out", isNumber: true, cell: ({ owed }) => owedText(owed) },
        ],
      })}
      ${next === null ? "" : nextPage(at, { text, state, after: next }, "Next page")}`,
  };
}

function actLinks(home: string, { fieldPartnerId, state }: PersonView): Html {
  const order = state === "active" ? "suspend" : "resume";
  return html`<p class="acts">
    <a href="${home}${personPath(fieldPartnerId, "phone")}">Change the phone number</a>
    <a href="${home}${personPath(fieldPartnerId, "move")}">Move all cases</a>
    <a href="${home}${personPath(fieldPartnerId, order)}">${words(order)}</a>
  </p>`;
}

/** One field partner, with links to the forms for operators who may use them. */
export function personPage(home: string, person: PersonView, operator: ConsoleOperator): PageContent {
  const { fieldPartnerId, displayName, state, timeZone, cases, sessions } = person;
  return {
    title: displayName,
    section: "Field partners",
    main: html`<h1>${displayName} <span class="state">${words(state)}</span></h1>
      <p class="about">${fieldPartnerId}. Times in ${timeZone}.</p>
      ${operator.roles.includes("operator") ? actLinks(home, person) : ""}
      <div class="case">
        <section class="panel">
          <h2>Field partner</h2>
          ${factList([
            ["Phone", person.phone],
            ["Open cases", countText(person.openCases)],
            ["Open promises", countText(person.openPromises)],
            ["Last visit", person.lastVisit ?? "None"],
            ["To pay out", owedText(person.owed)],
          ])}
        </section>
        <div>
          <section class="panel">
            <h2>Cases</h2>
            ${listTable({
              label: "Cases by lender and status",
              items: cases,
              none: "No case is assigned.",
              columns: [
                {
                  label: "Lender",
                  cell: ({ lenderCode, status }) =>
                    html`<a href="${home}/cases?${queryText({ lender: lenderCode, holder: fieldPartnerId, status })}"
                      >${lenderCode}</a
                    >`,
                },
                { label: "Status", cell: ({ status }) => words(status) },
                { label: "Cases", isNumber: true, cell: (one) => countText(one.cases) },
              ],
            })}
          </section>
          <section class="panel">
            <h2>Sessions</h2>
            ${listTable({
              label: "Open sessions",
              items: sessions,
              none: "No open session.",
              columns: [
                { label: "Device", cell: ({ deviceName }) => deviceName ?? "Unnamed" },
                { label: "Signed in", isShort: true, cell: ({ signedInAt }) => signedInAt },
                { label: "Last used", isShort: true, cell: ({ lastUsedAt }) => lastUsedAt },
              ],
            })}
          </section>
        </div>
      </div>`,
  };
}

/** The page for an id that no field partner has. */
export function noPersonPage(): PageContent {
  return messagePage("Field partner not found", "There is no such field partner. Search for a part of the name.");
}

function owedText(owed: readonly Owed[]): string {
  return owed.length === 0 ? "–" : amountsText(owed);
}
