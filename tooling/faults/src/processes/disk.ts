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

/** A place for PostgreSQL's files that can be made full. */
export interface Disk {
  readonly dataDir: string;
  /** The environment that the server must be started with. */
  readonly environment: Readonly<Record<string, string>>;
  fill(): void;
  free(): void;
  /** Call it after the server has ended. */
  close(): void;
}

const SIZE = "400m";
const CHUNK_BYTES = 1024 * 1024;

/** The reason why this machine cannot mount a filesystem, or undefined. */
export function mountUnavailable(): string | undefined {
  const place = mkdtempSync(join(tmpdir(), "collections-mount-"));
  const isMounted = spawnSync("mount", ["-t", "tmpfs", "tmpfs", place], { stdio: "ignore" }).status === 0;
  if (isMounted) spawnSync("umount", [place]);
  rmSync(place, { recursive: true });
  return isMounted
    ? undefined
    : "it needs the right to mount a filesystem; full-disk-shim simulates the same without it";
}

/** Returns a disk that is a small filesystem in memory. A large file fills it. */
export function mountedDisk(): Disk {
  const folder = ownFolder();
  const place = join(folder, "disk");
  mkdirSync(place);
  const { status, stderr } = spawnSync("mount", ["-t", "tmpfs", "-o", `size=${SIZE},mode=755`, "tmpfs", place], {
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(`Mounting the filesystem failed: ${stderr}`);
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

/**
 * Returns a place for PostgreSQL's files on the disk that also has the source code. A preloaded library can simulate
 * that this disk is full. Needs no special rights.
 */
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
