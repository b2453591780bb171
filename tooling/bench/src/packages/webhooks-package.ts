import type { Database, PackageSchema, Tx } from "@collections/database";
import type { Outbound } from "@collections/outbound";

interface NewEvent {
  readonly tenantId: string;
  readonly kind: string;
  readonly stream: string;
  readonly occurredAt: Date;
  readonly body: string;
}

interface StartOptions {
  readonly database: Database;
  readonly outbound: Outbound;
  readonly signingKeyOf: (tenantId: string) => { readonly keyId: string; readonly secret: string };
  readonly pingOf: (tenantId: string) => { readonly eventId: string; readonly body: string };
}

/** The exports of `@collections/webhooks` that the benchmark calls. */
interface WebhooksPackage {
  emit(tx: Tx, events: readonly NewEvent[]): Promise<unknown>;
  upsertEndpoint(tx: Tx, endpoint: { tenantId: string; url: string }): Promise<unknown>;
  startWebhooks(options: StartOptions): Promise<{ stop(graceMs: number): Promise<void> }>;
}

const SOURCES = new URL("../../../../packages/webhooks/src/", import.meta.url);

/**
 * Loads `@collections/webhooks` by its path: the boundaries of this tree forbid that tooling depends on a package of the
 * domain. A host imports the same functions from the package.
 */
export async function webhooksPackage(): Promise<WebhooksPackage & { readonly webhooksSchema: PackageSchema }> {
  const [exported, { webhooksSchema }] = (await Promise.all([
    import(new URL("index.ts", SOURCES).href),
    import(new URL("schema.ts", SOURCES).href),
  ])) as [WebhooksPackage, { webhooksSchema: PackageSchema }];
  return { ...exported, webhooksSchema };
}
