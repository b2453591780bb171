import { spawnSync } from "node:child_process";
import {
  chmodSync,
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  rmSync,
  statfsSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeShim } from "./shim.ts";
import { ownFolder } from "./run-folder.ts";

/** Something that PostgreSQL's files lie on and that can be full. */
export interface Disk {
  readonly dataDir: string;
  /** What the server has to be started with. */
  readonly environment: Readonly<Record<string, string>>;
  fill(): void;
  free(): void;
  /** Once nobody uses it any more. */
  close(): void;
}

const SIZE = "400m";
const CHUNK_BYTES = 1024 * 1024;

/** Why no filesystem can be mounted here; undefined when one can. */
export function whyNoMount(): string | undefined {
  const place = mkdtempSync(join(tmpdir(), "collections-mount-"));
  const isMounted = spawnSync("mount", ["-t", "tmpfs", "tmpfs", place], { stdio: "ignore" }).status === 0;
  if (isMounted) spawnSync("umount", [place]);
  rmSync(place, { recursive: true });
  return isMounted ? undefined : "it needs the right to mount; full-disk-shim plays the same without";
}

/** A small filesystem in memory, which a file fills to its last byte. */
export function mountedDisk(): Disk {
  const folder = ownFolder();
  const place = join(folder, "disk");
  mkdirSync(place);
  const { status, stderr } = spawnSync("mount", ["-t", "tmpfs", "-o", `size=${SIZE},mode=755`, "tmpfs", place], {
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(`The disk was not mounted: ${stderr}`);
  const filler = join(place, "filler");
  return {
    dataDir: join(place, "data"),
    environment: {},
    fill: () => fillUp(filler, place),
    free: () => rmSync(filler, { force: true }),
    close() {
      spawnSync("umount", ["--lazy", place]);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The disk of the checkout behind a library that says that it is full: needs no rights. */
export function shimmedDisk(): Disk {
  const folder = ownFolder();
  const dataDir = join(folder, "data");
  const full = join(folder, "is-full");
  return {
    dataDir,
    environment: {
      LD_PRELOAD: makeShim("disk", folder),
      FAULTS_DISK_FOLDER: dataDir,
      FAULTS_DISK_FULL: full,
    },
    fill() {
      writeFileSync(full, "");
      chmodSync(full, 0o644);
    },
    free: () => rmSync(full, { force: true }),
    close: () => rmSync(folder, { recursive: true, force: true }),
  };
}

function fillUp(filler: string, place: string): void {
  const file = openSync(filler, "a");
  try {
    while (statfsSync(place).bfree > 0) writeSync(file, Buffer.alloc(CHUNK_BYTES, 1));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
  } finally {
    closeSync(file);
  }
}
