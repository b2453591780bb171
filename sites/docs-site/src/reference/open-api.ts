/** The parts of an OpenAPI 3.1 document that the reference shows. */
export interface OpenApi {
  readonly info: { readonly title: string; readonly version: string; readonly description?: string };
  readonly servers?: readonly { readonly url: string }[];
  readonly tags?: readonly { readonly name: string; readonly description?: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly webhooks?: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

/** An endpoint with its method, or a request that the service sends to a lender. */
export interface Operation {
  readonly operationId: string;
  readonly tags?: readonly string[];
  readonly summary: string;
  readonly description?: string;
  readonly security?: readonly object[];
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly required?: boolean; readonly content: Contents };
  readonly responses: Readonly<Record<string, Response | Reference>>;
}

export interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly description?: string;
  readonly schema: Schema;
  readonly example?: string | number | boolean;
}

export interface Response {
  readonly description: string;
  readonly headers?: Readonly<Record<string, Header | Reference>>;
  readonly content?: Contents;
}

export interface Header {
  readonly description?: string;
  readonly required?: boolean;
  readonly schema: Schema;
  readonly example?: unknown;
}

export type Contents = Readonly<Record<string, Content>>;

export interface Content {
  readonly schema: Schema;
  readonly examples?: Readonly<Record<string, Example | Reference>>;
}

export interface Example {
  readonly summary?: string;
  readonly value: unknown;
}

export interface Reference {
  readonly $ref: string;
}

export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly format?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly additionalProperties?: Schema | boolean;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly default?: unknown;
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
}

/** Thrown if the OpenAPI document refers to something that it does not contain. */
export class UnknownReferenceError extends Error {
  override readonly name = "UnknownReferenceError";
  readonly code = "UNKNOWN_REFERENCE";

  constructor(reference: string) {
    super(`The OpenAPI document has nothing at ${reference}. Add it, or correct the $ref that names it.`);
  }
}

/** Returns what a `$ref` refers to, or the given object itself if it is not a reference. */
export function resolve<Thing extends object>(openApi: OpenApi, thing: Thing | Reference): Thing {
  if (!("$ref" in thing) || typeof thing.$ref !== "string") return thing as Thing;
  const names = thing.$ref
    .split("/")
    .slice(1)
    .map((name) => decodeURIComponent(name).replaceAll("~1", "/").replaceAll("~0", "~"));
  let found: unknown = openApi;
  for (const name of names) found = (found as Record<string, unknown> | undefined)?.[name];
  if (typeof found !== "object" || found === null) throw new UnknownReferenceError(thing.$ref);
  return resolve(openApi, found as Thing | Reference);
}

/** Returns the last part of a `$ref`: the name of a schema or an example. */
export function nameOf(reference: string): string {
  return reference.slice(reference.lastIndexOf("/") + 1);
}
