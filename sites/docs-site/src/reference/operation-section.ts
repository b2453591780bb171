import { escapeHtml } from "@collections/web-pages";
import { codeBlock } from "../code-block.ts";
import { sampleTabs } from "../sample-tabs.ts";
import {
  type Content,
  type Contents,
  type Header,
  nameOf,
  type OpenApi,
  type Operation,
  type Parameter,
  resolve,
  type Response,
  type Schema,
} from "./open-api.ts";
import { exampleRequest, requestSamples } from "./request-samples.ts";
import type { SchemaFields } from "./schema-fields.ts";
import { tryForm } from "./try-form.ts";

/** The parts that the sections of all operations share. */
export interface Shared {
  readonly openApi: OpenApi;
  readonly fields: SchemaFields;
  /** The URL of the page with the fields and examples of errors. */
  readonly problems: string;
  /** Renders a description, which is Markdown, as paragraphs and lists. */
  readonly markdown: (text: string) => string;
}

const PROBLEM = "application/problem+json";

/** Returns the section of an endpoint: what it does, its parameters, body and answers, samples, and the form to try it. */
export function endpointSection(shared: Shared, place: { method: string; path: string }, operation: Operation): string {
  const { operationId, summary, description = "" } = operation;
  const base = shared.openApi.servers?.[0]?.url.replace(/\/$/, "") ?? "";
  const fullPath = base + place.path;
  const example = exampleRequest(shared.openApi, { ...place, path: fullPath }, operation);
  return `<section class="operation" aria-labelledby="${operationId}">
${heading(operationId, summary)}
<p class="endpoint"><span class="method">${place.method.toUpperCase()}</span> <code>${escapeHtml(place.path)}</code></p>
${shared.markdown(description)}
${parameters(shared, operation.parameters)}
${body(shared, operation)}
<h3>Samples</h3>
${sampleTabs(
  operationId,
  requestSamples(example).map(({ language, text }) => ({ language, html: codeBlock(text, language) })),
)}
${tryForm(operation, { ...place, path: fullPath }, example)}
${answers(shared, operation)}
</section>
`;
}

/** Returns the section of a request that the service sends to a lender. */
export function webhookSection(shared: Shared, name: string, operation: Operation): string {
  const { operationId, summary, description = "" } = operation;
  return `<section class="operation" aria-labelledby="${operationId}">
${heading(operationId, summary)}
<p class="endpoint"><span class="method">POST</span> <code>${escapeHtml(name)}</code> <span class="type">to your server</span></p>
${shared.markdown(description)}
${body(shared, operation, "")}
${folded("Headers", parameterList(shared, operation.parameters ?? []))}
${answers(shared, operation, "Your answer")}
</section>
`;
}

function heading(id: string, text: string): string {
  return `<h2 id="${id}">${escapeHtml(text)} <a class="anchor" href="#${id}" aria-label="Link to: ${escapeHtml(text)}">#</a></h2>`;
}

function parameters(shared: Shared, all: readonly Parameter[] = []): string {
  return all.length === 0 ? "" : `<h3>Parameters</h3>\n${parameterList(shared, all)}`;
}

function parameterList({ fields }: Shared, all: readonly Parameter[]): string {
  const items = all.map(({ name, schema, required = false, description }) =>
    fields.field({ name, schema, isRequired: required, description }),
  );
  return `<dl class="fields">\n${items.join("\n")}\n</dl>\n`;
}

function body(shared: Shared, { requestBody }: Operation, state = " open"): string {
  if (!requestBody) return "";
  return `<h3>Body</h3>\n${Object.values(requestBody.content)
    .map((content) => contentOf(shared, content, "Fields of the body", state))
    .join("")}`;
}

function contentOf(shared: Shared, { schema, examples = {} }: Content, title: string, state = ""): string {
  const shown = Object.values(examples).map((each) => {
    const { summary, value } = resolve(shared.openApi, each);
    const name = summary === undefined ? "Example" : `Example: ${summary}`;
    return (
      (summary === undefined ? "" : `<p class="caption">${escapeHtml(summary)}</p>\n`) +
      codeBlock(JSON.stringify(value, null, 2), "json", name)
    );
  });
  return folded(title, shared.fields.fields(schema), state) + shown.join("");
}

function folded(title: string, html: string, state = ""): string {
  return html === "" ? "" : `<details class="nested"${state}><summary>${title}</summary>\n${html}</details>\n`;
}

function answers(shared: Shared, { responses }: Operation, title = "Answers"): string {
  const shown = Object.entries(responses).map(([status, response]) =>
    answer(shared, status, resolve(shared.openApi, response)),
  );
  return `<h3>${title}</h3>\n<dl class="answers">\n${shown.join("\n")}\n</dl>\n`;
}

/** Returns one answer. The fields and examples of errors are in a section of their own, so errors link to it. */
function answer(shared: Shared, status: string, { description, headers = {}, content = {} }: Response): string {
  const kind = /^[45]/.test(status) ? "bad" : "good";
  const problem = content[PROBLEM];
  const contents: Contents = problem ? {} : content;
  const shown = [
    shared.markdown(description),
    problem
      ? `<p>Body: ${problemLink(shared, problem.schema)} (<a href="${shared.problems}#examples">examples</a>).</p>`
      : "",
    ...Object.values(contents).map((each) => contentOf(shared, each, "Fields of the answer")),
    problem ? "" : folded("Headers", headerList(shared, headers)),
  ];
  return `<dt><span class="status ${kind}">${escapeHtml(status)}</span></dt>
<dd>${shown.join("")}</dd>`;
}

function problemLink({ problems }: Shared, { $ref, allOf = [] }: Schema): string {
  const reference = $ref ?? allOf.find((part) => part.$ref !== undefined)?.$ref ?? "#/components/schemas/Problem";
  return `<a href="${problems}#${nameOf(reference)}">${nameOf(reference)}</a>`;
}

function headerList({ openApi, fields }: Shared, headers: NonNullable<Response["headers"]>): string {
  const items = Object.entries(headers).map(([name, each]) => {
    const { schema, required = false, description } = resolve<Header>(openApi, each);
    return fields.field({ name, schema, isRequired: required, description });
  });
  return items.length === 0 ? "" : `<dl class="fields">\n${items.join("\n")}\n</dl>\n`;
}
