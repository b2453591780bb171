import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

/**
 * The names of Chromium's programs, in order of preference. The headless shell draws no windows, and needs a fifth of
 * the processor time of the others.
 */
const NAMES = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"];

/** Chromium is not installed, or not at the path of `CHROMIUM`. */
export class ChromiumMissingError extends Error {
  override readonly name = "ChromiumMissingError";
  readonly code = "CHROMIUM_MISSING";

  constructor(lookedFor: readonly string[]) {
    super(
      `No Chromium found (${lookedFor.join(", ")}). Install it, on Debian with \`apt-get install chromium-headless-shell\`, ` +
        "or set CHROMIUM to the path of a Chromium program.",
    );
  }
}

/**
 * Returns the path of Chromium: the path in `CHROMIUM`, else the first usual program name that is on the `PATH`. Throws
 * ChromiumMissingError.
 */
export function findChromium(env: NodeJS.ProcessEnv): string {
  const folders = (env["PATH"] ?? "").split(delimiter).filter(Boolean);
  const candidates = env["CHROMIUM"]
    ? [env["CHROMIUM"]]
    : NAMES.flatMap((name) => folders.map((folder) => join(folder, name)));
  const found = candidates.find(isExecutable);
  if (found === undefined) throw new ChromiumMissingError(env["CHROMIUM"] ? [env["CHROMIUM"]] : NAMES);
  return found;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
