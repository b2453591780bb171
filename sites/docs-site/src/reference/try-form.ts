import { escapeHtml } from "@collections/web-pages";
import type { Operation, Parameter } from "./open-api.ts";
import type { ExampleRequest } from "./request-samples.ts";

/**
 * Returns the form that sends a request to this deployment. `pages/reference.ts` signs and sends it. The input fields
 * have no `name`, so that browsers neither submit their values nor offer to save them.
 */
export function tryForm(
  { operationId, parameters = [], summary }: Operation,
  place: { readonly method: string; readonly path: string },
  { body }: ExampleRequest,
): string {
  const inputs = parameters.filter((parameter) => parameter.in !== "header").map((each) => input(operationId, each));
  const text = body === undefined ? "" : bodyInput(operationId, body);
  return `<details class="try">
<summary>Try it</summary>
<form data-method="${place.method.toUpperCase()}" data-path="${escapeHtml(place.path)}" aria-label="Try: ${escapeHtml(summary)}" autocomplete="off" novalidate>
<p class="hint">Sends the request to this deployment, signed with <a href="#your-key">your key</a>.</p>
${[...inputs, text].filter(Boolean).join("\n")}
<div class="actions"><button type="submit" class="primary">Send the request</button></div>
</form>
<div class="answer"><p role="status"></p><div></div></div>
</details>
`;
}

function input(operationId: string, { name, in: place, required, example, schema }: Parameter): string {
  const id = `${operationId}-${name}`;
  const value = place === "path" && example !== undefined ? ` value="${escapeHtml(String(example))}"` : "";
  const shown = schema.enum ? ` placeholder="${escapeHtml(schema.enum.filter((one) => one !== "").join(", "))}"` : "";
  return `<div class="field"><label for="${id}"><code>${escapeHtml(name)}</code> <span class="optional">${required ? place : `${place}, optional`}</span></label>
<input id="${id}" data-in="${place}" data-name="${escapeHtml(name)}" spellcheck="false" autocapitalize="none"${value}${shown}></div>`;
}

function bodyInput(operationId: string, body: string): string {
  const id = `${operationId}-body`;
  const rows = Math.min(18, body.split("\n").length);
  return `<div class="field"><label for="${id}">Body</label>
<textarea id="${id}" data-in="body" rows="${rows}" spellcheck="false" autocapitalize="none">${escapeHtml(body)}</textarea></div>`;
}
