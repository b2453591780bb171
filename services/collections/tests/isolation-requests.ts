import type { Endpoint } from "../src/rest/server.ts";
import type { OpenApiDocument } from "../src/docs/openapi.ts";
import { LEFT_OUT, VALUES } from "./isolation-values.ts";
import { usedUpNowhere, type World } from "./isolation-world.ts";

/** A request as it goes out, but for who signs it. */
export interface Call {
  readonly method: string;
  readonly path: string;
  readonly body: object | undefined;
  readonly headers: Readonly<Record<string, string>>;
}

/** The same request twice: once with what is another lender's at one place, once with what is nobody's. */
export interface Trial {
  readonly endpoint: string;
  /** "GET get-case path.loan" */
  readonly title: string;
  readonly theirs: Call;
  readonly nobodys: Call;
  /** What the two say at that place. */
  readonly sent: readonly [theirs: string, nobodys: string];
}

/** The API has a route, a parameter or a field that nobody has given values for. */
export class NoValueError extends Error {
  override readonly name = "NoValueError";

  constructor(place: string, where: string) {
    super(
      `The isolation matrix has no value for ${place} of ${where}. Add "${place}" to VALUES in tests/isolation-values.ts: ` +
        "what is right there and, where it names something that is stored, `pairs` of another lender's and nobody's.",
    );
  }
}

/** As much of a JSON schema as says what may be sent. */
interface Schema {
  readonly $ref?: string;
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
}

interface DocumentedOperation {
  readonly parameters?: readonly { readonly name: string; readonly in: string }[];
  readonly security: readonly Readonly<Record<string, unknown>>[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> };
}

/** Who calls is tried on every route, see isolation-rest.test.ts. */
const CREDENTIALS: ReadonlySet<string> = new Set(["KeyId", "Timestamp", "Signature"]);
const MAX_VARIANTS = 24;

/** Of every route and method the requests with one's own values at every place, in all variants. */
export function ownCalls(endpoints: readonly Endpoint[], document: OpenApiDocument, world: World) {
  return operationsOf(endpoints, document).flatMap((operation) =>
    variantsOf(operation, world).map((variant) => ({
      endpoint: operation.endpoint.name,
      call: new CallWriter(operation, world, variant).write(),
    })),
  );
}

/** Of every route and method, for each place that names something: what names another lender's beside nobody's. */
export function trialsOf(endpoints: readonly Endpoint[], document: OpenApiDocument, world: World): Trial[] {
  return operationsOf(endpoints, document).flatMap((operation) =>
    variantsOf(operation, world).flatMap((variant) => trialsOfVariant(operation, world, variant)),
  );
}

function trialsOfVariant(operation: Operation, world: World, variant: number): Trial[] {
  const { endpoint, method } = operation;
  const usual = new CallWriter(operation, usedUpNowhere(world), variant);
  usual.write();
  return [...usual.places].flatMap((place) =>
    (VALUES[place]!.pairs?.(world) ?? []).map((sent) => {
      const [theirs, nobodys] = sent.map((value) =>
        new CallWriter(operation, world, variant, { place, value }).write(),
      );
      const title = `${method} ${endpoint.name} ${place}`;
      return { endpoint: endpoint.name, title, theirs: theirs!, nobodys: nobodys!, sent };
    }),
  );
}

interface Operation {
  readonly endpoint: Endpoint;
  readonly method: string;
  readonly documented: DocumentedOperation;
  readonly document: OpenApiDocument;
}

function operationsOf(endpoints: readonly Endpoint[], document: OpenApiDocument): Operation[] {
  return endpoints.flatMap((endpoint) =>
    Object.keys(endpoint.methods).map((method) => {
      const path = endpoint.path.replaceAll(/:(\w+)/g, "{$1}");
      const documented = document.paths[path]?.[method.toLowerCase()] as DocumentedOperation | undefined;
      if (!documented)
        throw new Error(`${method} ${path} is not in the OpenAPI document: describe it, see CONTRIBUTING.`);
      const unknown = documented.security.flatMap(Object.keys).find((scheme) => !CREDENTIALS.has(scheme));
      if (unknown !== undefined) throw new NoValueError(unknown, `${method} ${path}`);
      return { endpoint, method, documented, document };
    }),
  );
}

/** As many as it takes for each value of each place to be in one of them. */
function variantsOf(operation: Operation, world: World): number[] {
  let variants = 1;
  for (let variant = 0; variant < Math.min(variants, MAX_VARIANTS); variant += 1) {
    const writer = new CallWriter(operation, usedUpNowhere(world), variant);
    writer.write();
    variants = Math.max(variants, writer.variants);
  }
  return Array.from({ length: variants }, (_, variant) => variant);
}

/** A class, since all it writes shares which places were come by. */
class CallWriter {
  readonly places = new Set<string>();
  variants = 1;
  readonly #operation: Operation;
  readonly #world: World;
  readonly #variant: number;
  readonly #other: { readonly place: string; readonly value: string } | undefined;

  constructor(operation: Operation, world: World, variant: number, other?: { place: string; value: string }) {
    this.#operation = operation;
    this.#world = world;
    this.#variant = variant;
    this.#other = other;
  }

  write(): Call {
    const { endpoint, method, documented } = this.#operation;
    const path = endpoint.path.replaceAll(/:(\w+)/g, (_, name: string) =>
      encodeURIComponent(String(this.#at(`path.${name}`))),
    );
    const said = (kind: string) =>
      (documented.parameters ?? [])
        .filter((parameter) => parameter.in === kind)
        .map(({ name }) => [name, this.#at(`${kind}.${name}`)] as const)
        .filter(([, value]) => value !== LEFT_OUT)
        .map(([name, value]) => [name, String(value)] as [string, string]);
    const query = new URLSearchParams(said("query")).toString();
    const schema = documented.requestBody?.content["application/json"]?.schema;
    return {
      method,
      path: query === "" ? path : `${path}?${query}`,
      headers: Object.fromEntries(said("header")),
      body: schema && this.#object(schema),
    };
  }

  /** The value at a place: the other lender's where it is that one, else one's own. */
  #at(place: string): unknown {
    const values = VALUES[place];
    if (!values) throw new NoValueError(place, `${this.#operation.method} ${this.#operation.endpoint.path}`);
    this.places.add(place);
    if (place === this.#other?.place) return this.#other.value;
    const some = values.own(this.#world);
    this.variants = Math.max(this.variants, some.length);
    const value = some[this.#variant % some.length];
    return typeof value === "function" ? (value as () => unknown)() : value;
  }

  #object({ $ref = "" }: Schema): object {
    const name = $ref.slice($ref.lastIndexOf("/") + 1);
    const schema: Schema | undefined = this.#operation.document.components["schemas"]?.[name];
    if (!schema?.properties) throw new NoValueError(name || "a body without a name", this.#operation.endpoint.path);
    const fields = Object.entries(schema.properties).map(([field, { items }]) => {
      const value = this.#at(`${name}.${field}`);
      const named = items?.anyOf?.find(({ $ref }) => $ref?.endsWith(`/${String(value)}`)) ?? items;
      return [field, named?.$ref === undefined ? value : [this.#object(named)]] as const;
    });
    return Object.fromEntries(fields.filter(([, value]) => value !== LEFT_OUT));
  }
}
