import { promisify } from "node:util";
import { gunzip, gzip } from "node:zlib";
import type { Vault } from "@collections/lenders";
import type { PartOf } from "./upload-schema.ts";

/** The part of a table that a sealed value belongs to. A value that is copied to another row cannot be opened. */
export interface SealedAt {
  readonly lenderId: string;
  readonly uploadId: string;
}

/** Sealing takes milliseconds for each part, so that other requests of the process run in between. */
const PART_BYTES = 524_288;

/** The context of an upload's parts. */
export function partContext({ lenderId, uploadId }: SealedAt, content: PartOf, place: number): string {
  return `uploads.part.sealed/${lenderId}/${uploadId}/${content}/${place}`;
}

/** The context of an upload's outcome. */
export function outcomeContext({ lenderId, uploadId }: SealedAt): string {
  return `uploads.upload.outcome/${lenderId}/${uploadId}`;
}

/** Compresses and seals a file in parts. */
export async function sealFile(vault: Vault, at: SealedAt, bytes: Buffer): Promise<string[]> {
  const packed = await promisify(gzip)(bytes);
  const parts: string[] = [];
  for (let first = 0; first < packed.length; first += PART_BYTES) {
    const text = packed.subarray(first, first + PART_BYTES).toString("base64");
    parts.push(vault.seal(text, partContext(at, "file", parts.length)));
    await nextTurn();
  }
  return parts;
}

/** Opens the parts of a file. Throws SealedValueError, for example after a rotation of the master key. */
export async function openFile(vault: Vault, at: SealedAt, parts: readonly string[]): Promise<Buffer> {
  const opened: Buffer[] = [];
  for (const [place, sealed] of parts.entries()) {
    opened.push(Buffer.from(vault.open(sealed, partContext(at, "file", place)), "base64"));
    await nextTurn();
  }
  return promisify(gunzip)(Buffer.concat(opened));
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
