import { collectionsLedger } from "@collections/bookings";
import type { AnchorState } from "@collections/ledger";
import { listLenders } from "@collections/lenders";
import { appendToAnchorFile } from "./file.ts";
import { putAnchor } from "./address.ts";
import type { App } from "../app.ts";

/**
 * Anchors the head (the newest block) of each lender's hash chain that has grown since its last anchor. A failure is
 * logged and counted. The next run then anchors the newer heads, which cover the same rows.
 */
export async function anchorChains(
  app: Pick<App, "anchorKeys" | "anchorOutbound" | "config" | "database" | "log" | "metrics">,
): Promise<void> {
  const { anchorKeys: keys, anchorOutbound, config, database, log, metrics } = app;
  const place = config.ledgerAnchor;
  if (place === undefined) return;
  const append = async (line: string) => {
    await (place.kind === "file" ? appendToAnchorFile(place.path, line) : putAnchor(anchorOutbound, place, line));
    metrics.ledger.onAnchor("written");
  };
  const { environment } = config;
  try {
    const books = await lenderIdsOf(app);
    const options = { books, keys, environment, now: new Date(), append };
    const chains = await collectionsLedger.anchorHeads(database.em(), options);
    if (chains > 0) log.info({ chains, keyId: keys.keyId }, "ledger chains anchored");
  } catch (error) {
    metrics.ledger.onAnchor("failed");
    log.error({ error, retryInMs: config.ledgerAnchorIntervalMs }, "ledger chains not anchored");
  }
}

/** Returns how far the hash chains of all lenders are anchored. */
export async function anchorStateOfAll(app: Pick<App, "database">): Promise<AnchorState> {
  return collectionsLedger.anchorState(app.database.em(), await lenderIdsOf(app));
}

async function lenderIdsOf({ database }: Pick<App, "database">): Promise<string[]> {
  return (await listLenders(database.em())).map(({ id }) => id);
}
