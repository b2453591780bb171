import type { ProblemCode } from "../../http/problem.ts";
import type { NamedSchemas } from "./schemas.ts";

/** One endpoint and method as the OpenAPI document shows it. */
export interface Operation {
  readonly method: "GET" | "POST";
  /** Parameters of the path in braces. */
  readonly path: string;
  readonly id: string;
  readonly tag: string;
  readonly summary: string;
  readonly description: string;
  /** Anybody with a key id may call it. */
  readonly signed?: false;
  readonly parameters?: readonly Parameter[];
  readonly request?: RequestBody;
  readonly answers: Readonly<Record<number, OperationAnswer>>;
  /** What it may answer beside what every operation may. */
  readonly problems: readonly ProblemCode[];
}

export interface Parameter {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly description: string;
  readonly schema: object;
  readonly example?: unknown;
}

export interface RequestBody {
  /** One schema, by its name in the document; further ones are parts of it that have names too. */
  readonly schemas: NamedSchemas;
  readonly required: boolean;
  readonly examples: Examples;
}

export interface OperationAnswer {
  readonly description: string;
  /** One schema, by its name in the document; further ones are parts of it that have names too. None: no body. */
  readonly schemas?: NamedSchemas;
  readonly examples?: Examples;
  readonly headers?: readonly string[];
}

/** Values by a sentence about them. */
export type Examples = Readonly<Record<string, unknown>>;
