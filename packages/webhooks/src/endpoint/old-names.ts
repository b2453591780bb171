/*
 * The names of version 0.1 and their older aliases: `tenantId` was `lenderId`, and `stream` was `loan`. Version 0.2
 * removes this file and the aliases. Until then, inputs may have either name, and outputs have both.
 */

/** Names the tenant of an input. */
export type OfTenant =
  | {
      readonly tenantId: string;
      /** @deprecated Use `tenantId`. Version 0.2 removes `lenderId`. */
      readonly lenderId?: string | undefined;
    }
  | {
      /** @deprecated Use `tenantId`. Version 0.2 removes `lenderId`. */
      readonly lenderId: string;
      readonly tenantId?: undefined;
    };

/** Names the stream of an input. */
export type OnStream =
  | {
      readonly stream: string;
      /** @deprecated Use `stream`. Version 0.2 removes `loan`. */
      readonly loan?: string | undefined;
    }
  | {
      /** @deprecated Use `stream`. Version 0.2 removes `loan`. */
      readonly loan: string;
      readonly stream?: undefined;
    };

/** The tenant of an output. */
export interface TenantNames {
  readonly tenantId: string;
  /** @deprecated Use `tenantId`. Version 0.2 removes `lenderId`. */
  readonly lenderId: string;
}

/** The stream of an output. */
export interface StreamNames {
  readonly stream: string;
  /** @deprecated Use `stream`. Version 0.2 removes `loan`. */
  readonly loan: string;
}

/**
 * An input has a property under its name and under its deprecated name, with different values. Nothing was written.
 *
 * @example
 * try {
 *   await listDeliveries(em, filter, now);
 * } catch (error) {
 *   if (error instanceof ConflictingNamesError) console.error(error.property, error.deprecated);
 *   throw error;
 * }
 */
export class ConflictingNamesError extends Error {
  override readonly name = "ConflictingNamesError";
  readonly code = "CONFLICTING_NAMES";
  readonly property: "tenantId" | "stream";
  readonly deprecated: "lenderId" | "loan";

  constructor(property: "tenantId" | "stream", deprecated: "lenderId" | "loan") {
    super(`${property} and ${deprecated} have different values; pass only ${property}: ${deprecated} is its old name.`);
    this.property = property;
    this.deprecated = deprecated;
  }
}

interface TenantInput {
  readonly tenantId?: string | undefined;
  readonly lenderId?: string | undefined;
}

interface StreamInput {
  readonly stream?: string | undefined;
  readonly loan?: string | undefined;
}

/** Returns the tenant of an input, under either name. */
export function tenantIdOf(input: OfTenant): string;
export function tenantIdOf(input: TenantInput): string | undefined;
export function tenantIdOf({ tenantId, lenderId }: TenantInput): string | undefined {
  if (lenderId === undefined) return tenantId;
  if (tenantId !== undefined && tenantId !== lenderId) throw new ConflictingNamesError("tenantId", "lenderId");
  return lenderId;
}

/** Returns the stream of an input, under either name. */
export function streamOf(input: OnStream): string;
export function streamOf(input: StreamInput): string | undefined;
export function streamOf({ stream, loan }: StreamInput): string | undefined {
  if (loan === undefined) return stream;
  if (stream !== undefined && stream !== loan) throw new ConflictingNamesError("stream", "loan");
  return loan;
}

/** Returns the properties that name the tenant of an output. */
export function tenantNames(tenantId: string): TenantNames {
  return { tenantId, lenderId: tenantId };
}

/** Returns a stream under its new and its old property name, to be added to a result. */
export function streamNames(stream: string): StreamNames {
  return { stream, loan: stream };
}
