import { open } from "node:fs/promises";

/** Tells whether a file is a ZIP archive, as Excel workbooks are. */
export async function isArchive(path: string): Promise<boolean> {
  await using file = await open(path, "r");
  const { buffer } = await file.read(Buffer.alloc(4), 0, 4, 0);
  return buffer.equals(Buffer.from([0x50, 0x4b, 0x03, 0x04]));
}
