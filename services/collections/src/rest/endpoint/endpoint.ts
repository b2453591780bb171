import type { z } from "zod";
import type { App } from "../../app.ts";
import type { Answer } from "../../http/answer.ts";
import type { ProblemCode } from "../../http/problem.ts";
import type { LimitedEndpoint } from "../../settings/rate-limits.ts";
import type { NamedCaller, RequestOf, SignedCaller } from "../caller/signed-request.ts";

export type Method = "GET" | "POST";

/** One method of one path of the REST API: how it is served, and how the OpenAPI document describes it. */
export type Endpoint = SignedEndpoint | UnsignedEndpoint;

/** The signature of each request is verified before `handle` is called. */
export interface SignedEndpoint extends EndpointFor<SignedCaller> {
  readonly signed?: true;
}

/**
 * Accepts requests that name an API key but are not signed. The endpoint must therefore not reveal or change anything
 * that needs the key's secret.
 */
export interface UnsignedEndpoint extends EndpointFor<NamedCaller> {
  readonly signed: false;
}

interface EndpointFor<Caller extends NamedCaller> {
  /** The name of the endpoint's rate limit and metrics. */
  readonly name: LimitedEndpoint;
  readonly method: Method;
  /** The path, with its parameters in braces. */
  readonly path: string;
  /** The largest body that the endpoint accepts; by default `DEFAULT_LIMIT_BYTES`. */
  readonly limitBytes?: number;
  /**
   * Answers 403 while the operator has suspended the lender. Endpoints without this field stay open, because captured
   * money must be recorded.
   */
  readonly refusedWhileSuspended?: true;
  readonly operation: Operation;
  /** Answers a request. The router has already checked the caller, the rate limit and the size of the body. */
  handle(request: RequestOf<Caller>, app: App): Promise<Answer> | Answer;
}

export const KIB = 1_024;
export const DEFAULT_LIMIT_BYTES = 64 * KIB;

/** The description of an endpoint in the OpenAPI document, without method and path. */
export interface Operation {
  readonly id: string;
  readonly tag: string;
  readonly summary: string;
  readonly description: string;
  readonly parameters?: readonly Parameter[];
  readonly request?: RequestBody;
  /** Answers of 2xx and 3xx, by status. */
  readonly answers: Readonly<Record<number, OperationAnswer>>;
  /** Error codes of this endpoint, besides those that every endpoint may answer. */
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
  /** The schema of the body under its name in the OpenAPI document, followed by the schemas of its named parts. */
  readonly schemas: NamedSchemas;
  readonly required: boolean;
  readonly examples: Examples;
}

export interface OperationAnswer {
  readonly description: string;
  /**
   * The schema of the body under its name in the OpenAPI document, followed by the schemas of its named parts. Absent
   * for an answer without a body.
   */
  readonly schemas?: NamedSchemas;
  readonly examples?: Examples;
  readonly headers?: readonly string[];
}

/** Schemas by their names in the OpenAPI document. */
export type NamedSchemas = Readonly<Record<string, z.ZodType>>;

/** Example values, by their titles. */
export type Examples = Readonly<Record<string, unknown>>;
