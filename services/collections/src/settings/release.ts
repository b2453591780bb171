import { readFileSync } from "node:fs";

/** The content of `release.json`. `pnpm release:make` writes this file beside the bundle. */
export interface Release {
  /** The version of the packages, such as `1.4.0`. */
  readonly version: string;
  /** The full git commit that the release was made from. */
  readonly commit: string;
}

/** The release that this process runs. Undefined if it runs the sources, or a bundle of `pnpm build`. */
export const RELEASE: Release | undefined = readRelease();

function readRelease(): Release | undefined {
  try {
    return JSON.parse(readFileSync(new URL("release.json", import.meta.url), "utf8")) as Release;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
