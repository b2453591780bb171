import { createReadStream } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { AnchorLine } from "@collections/ledger";
import { createOutbound } from "@collections/outbound";
import { AnchorAddressError, getAnchors } from "../../anchors/address.ts";
import { allowHostOf, FILE_URL, pathOfFileUrl } from "../../settings/anchor-settings.ts";
import type { Config } from "../../settings/config.ts";
import { EXIT, Refusal } from "../terminal/refusal.ts";

/**
 * Yields the lines of all `places`, in order. A place is a file, a folder of files, a URL, or `-` for standard input.
 */
export async function* anchorLines(places: readonly string[], config: Config): AsyncGenerator<AnchorLine> {
  for (const place of places) {
    if (/^https?:/i.test(place)) yield* linesOfAddress(place, config);
    else yield* linesOfPath(/^file:/i.test(place) ? requirePath(place) : place);
  }
}

function requirePath(url: string): string {
  const path = pathOfFileUrl(url);
  if (path !== undefined) return path;
  throw new Refusal("ANCHORS_NOT_READ", `${url} does not name a file: write ${FILE_URL}.`, EXIT.notUnderstood);
}

async function* linesOfPath(path: string): AsyncGenerator<AnchorLine> {
  if (path === "-") return yield* numbered("stdin", createInterface({ input: process.stdin }));
  try {
    const files = (await stat(path)).isDirectory() ? await filesIn(path) : [path];
    for (const file of files) yield* numbered(file, createInterface({ input: createReadStream(file) }));
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    const isMissing = code === "ENOENT";
    const detail = isMissing ? `There is no file or folder ${path}.` : `${path} cannot be read: ${message}`;
    throw new Refusal("ANCHORS_NOT_READ", detail, isMissing ? EXIT.notFound : EXIT.refused);
  }
}

async function filesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map(({ name }) => name);
  return files.toSorted().map((name) => join(folder, name));
}

async function* linesOfAddress(url: string, { ledgerAnchor }: Config): AsyncGenerator<AnchorLine> {
  const allow = allowHostOf(url);
  if (allow === undefined) throw new Refusal("ANCHORS_NOT_READ", `${url} has no usable host.`, EXIT.notUnderstood);
  const outbound = createOutbound({ allow });
  try {
    // Send the header of LEDGER_ANCHOR_HEADER only to the scheme, host and port of LEDGER_ANCHOR, because it may
    // contain credentials.
    const isOurs = ledgerAnchor?.kind === "address" && new URL(ledgerAnchor.url).origin === new URL(url).origin;
    const headers = isOurs ? ledgerAnchor.headers : {};
    yield* numbered(new URL(url).host, (await getAnchors(outbound, { url, headers })).split("\n"));
  } catch (error) {
    if (error instanceof AnchorAddressError) throw new Refusal("ANCHORS_NOT_READ", error.message);
    throw error;
  } finally {
    await outbound.close({ graceMs: 0 });
  }
}

async function* numbered(source: string, lines: Iterable<string> | AsyncIterable<string>): AsyncGenerator<AnchorLine> {
  let line = 0;
  for await (const text of lines) yield { place: `${source}:${(line += 1)}`, text };
}
