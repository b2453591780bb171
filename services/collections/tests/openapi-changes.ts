import { answerBreaks, requestBreaks, type Schema, withoutReferences } from "./schema-changes.ts";

/** An OpenAPI document, as far as changes to it are looked at. */
export interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly webhooks?: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components?: {
    readonly securitySchemes?: Readonly<Record<string, object>>;
    readonly [kind: string]: unknown;
  };
}

interface Operation {
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: Body & { readonly required?: boolean };
  readonly responses: Readonly<Record<string, Response>>;
  readonly security?: readonly Readonly<Record<string, unknown>>[];
}

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly schema?: Schema;
}

interface Body {
  readonly content?: Readonly<Record<string, { readonly schema?: Schema }>>;
}

interface Response extends Body {
  readonly headers?: Readonly<Record<string, Schema>>;
}

interface Versions<Part> {
  readonly before: Part;
  readonly after: Part;
  readonly documents: { readonly before: Document; readonly after: Document };
  readonly place: string;
}

/**
 * What of a new version of a document breaks clients of the version before, each in a sentence (contract: Versions).
 * Clients send requests and read answers; of webhooks, they read requests and send answers.
 */
export function breakingChanges(before: Document, after: Document): string[] {
  const documents = { before, after };
  return [
    ...operationsOf({ before: before.paths, after: after.paths, documents, place: "" }, operationBreaks),
    ...operationsOf(
      { before: before.webhooks ?? {}, after: after.webhooks ?? {}, documents, place: "webhook " },
      webhookBreaks,
    ),
    ...schemeBreaks(before, after),
  ];
}

function operationsOf(
  { before, after, documents, place }: Versions<Document["paths"]>,
  breaks: (versions: Versions<Operation>) => string[],
): string[] {
  return Object.entries(before).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, operation]) => {
      const title = `${place}${method.toUpperCase()} ${path}`;
      const other = after[path]?.[method];
      return other ? breaks({ before: operation, after: other, documents, place: title }) : [`${title} was removed`];
    }),
  );
}

function operationBreaks(versions: Versions<Operation>): string[] {
  return [
    ...parameterBreaks(versions),
    ...bodyBreaks(versions),
    ...securityBreaks(versions),
    ...responsesBreaks(versions, answerBreaks),
  ];
}

function webhookBreaks(versions: Versions<Operation>): string[] {
  const { before, after, documents, place } = versions;
  const headers = (before.parameters ?? []).flatMap(({ name, required }) => {
    const other = after.parameters?.find((parameter) => parameter.name === name);
    if (!other) return [`${place}: ${name} was removed`];
    return required && !other.required ? [`${place}: ${name} may be absent now`] : [];
  });
  const body = { before: before.requestBody ?? {}, after: after.requestBody ?? {}, documents, place };
  return [...headers, ...contentBreaks(body, answerBreaks), ...responsesBreaks(versions, requestBreaks)];
}

function parameterBreaks({ before, after, documents, place }: Versions<Operation>): string[] {
  const known = before.parameters ?? [];
  const now = after.parameters ?? [];
  const fresh = now.filter((parameter) => parameter.required && !known.some((other) => isSame(other, parameter)));
  return [
    ...fresh.map(({ name }) => `${place}: the parameter ${name} is required now`),
    ...known.flatMap((parameter) => {
      const title = `${place}: the parameter ${parameter.name}`;
      const other = now.find((one) => isSame(one, parameter));
      if (!other) return [`${title} was removed`];
      const nowRequired = other.required && !parameter.required ? [`${title} is required now`] : [];
      return [
        ...nowRequired,
        ...requestBreaks(schemasOf({ before: parameter, after: other, documents, place: title })),
      ];
    }),
  ];
}

function isSame(parameter: Parameter, other: Parameter): boolean {
  return parameter.name === other.name && parameter.in === other.in;
}

function bodyBreaks({ before, after, documents, place }: Versions<Operation>): string[] {
  const title = `${place}: the body`;
  if (!before.requestBody) return after.requestBody?.required ? [`${title} is required now`] : [];
  if (!after.requestBody) return [`${title} was removed`];
  const required = after.requestBody.required && !before.requestBody.required ? [`${title} is required now`] : [];
  const bodies = { before: before.requestBody, after: after.requestBody, documents, place: title };
  return [...required, ...contentBreaks(bodies, requestBreaks)];
}

function responsesBreaks(
  { before, after, documents, place }: Versions<Operation>,
  breaks: typeof answerBreaks,
): string[] {
  return Object.entries(before.responses).flatMap(([status, response]) => {
    const title = `${place}: ${status}`;
    const other = after.responses[status];
    if (!other) return [`${title} was removed`];
    const versions = { before: response, after: other, documents, place: title };
    return [...headerBreaks(versions), ...contentBreaks(versions, breaks)];
  });
}

function headerBreaks({ before, after, documents, place }: Versions<Response>): string[] {
  return Object.entries(before.headers ?? {}).flatMap(([name, header]) => {
    const other = after.headers?.[name];
    if (!other) return [`${place}: the header ${name} was removed`];
    const was = withoutReferences(header, documents.before);
    const is = withoutReferences(other, documents.after);
    return was["required"] && !is["required"] ? [`${place}: the header ${name} may be absent now`] : [];
  });
}

function contentBreaks({ before, after, documents, place }: Versions<Body>, breaks: typeof answerBreaks): string[] {
  return Object.entries(before.content ?? {}).flatMap(([type, content]) => {
    const other = after.content?.[type];
    if (!other) return [`${place}: ${type} was removed`];
    return breaks(schemasOf({ before: content, after: other, documents, place }));
  });
}

function schemasOf({ before, after, documents, place }: Versions<{ readonly schema?: Schema }>) {
  return {
    before: withoutReferences(before.schema ?? {}, documents.before),
    after: withoutReferences(after.schema ?? {}, documents.after),
    place,
  };
}

/** Each way to be let in that there was has to do still. */
function securityBreaks({ before, after, place }: Versions<Operation>): string[] {
  const ways = after.security ?? [];
  const lost = (before.security ?? []).filter(
    (way) => !ways.some((other) => Object.keys(other).every((scheme) => scheme in way)),
  );
  return lost.map((way) => `${place}: ${Object.keys(way).join(" and ")} is not enough any more`);
}

function schemeBreaks(before: Document, after: Document): string[] {
  const now = after.components?.securitySchemes ?? {};
  return Object.entries(before.components?.securitySchemes ?? {})
    .filter(([name, scheme]) => essence(scheme) !== essence(now[name] ?? {}))
    .map(([name]) => `the security scheme ${name} is another one now`);
}

function essence(scheme: object): string {
  return JSON.stringify({ ...scheme, description: undefined });
}
