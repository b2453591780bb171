/** The program behind `pnpm release:make`. */
import { randomBytes } from "node:crypto";
import { rmSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { parseArgs } from "node:util";
import { ROOT } from "../bundle.ts";
import { type MadeRelease, makeRelease, PlaceTakenError, readOrigin } from "./make-release.ts";

const HELP = `Usage: pnpm release:make [--to PATH] [--tarball] [--commit HASH] [--json]

Makes a folder that runs on any machine with Node 24, without this checkout and without pnpm: the bundled service
(main.js) and CLI (cli.js), the sites that the service serves, the libraries that they need, the unit files of systemd,
and the alert rules and the dashboard of the service. Two runs on the same commit make the same content.

Options:
  --to PATH      the folder, or with --tarball the file; it must not exist, or be an empty folder
                 (default: dist/collections-VERSION-COMMIT)
  --tarball      makes a .tar.gz instead of a folder; needs GNU tar
  --commit HASH  the commit to record in release.json, for a tree without git
  --json         prints {"path": …, "version": …, "commit": …, "files": …, "sha256": …}
  --help         shows this text

Exit codes: 0 made · 1 the release cannot be made · 2 wrong arguments, or PATH is in use

Example: pnpm release:make --to /opt/collections/1.4.0
`;

interface Options {
  readonly to?: string;
  readonly tarball?: boolean;
  readonly commit?: string;
  readonly json?: boolean;
  readonly help?: boolean;
}

// Every account may read the release, whatever the umask of this shell is.
process.umask(0o022);
process.exitCode = await main(process.argv.slice(2));

async function main(args: string[]): Promise<number> {
  let options: Options;
  try {
    options = readOptions(args);
  } catch (error) {
    return refuse((error as Error).message);
  }
  if (options.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const problem = problemOf(options);
  if (problem !== undefined) return refuse(problem);
  try {
    const made = await make(options);
    process.stdout.write(options.json ? `${JSON.stringify(made)}\n` : textOf(made));
    return 0;
  } catch (error) {
    if (error instanceof PlaceTakenError) return refuse(error.message);
    process.stderr.write(`The release cannot be made: ${(error as Error).message}\n`);
    return 1;
  }
}

function readOptions(args: string[]): Options {
  return parseArgs({
    args,
    options: {
      to: { type: "string" },
      tarball: { type: "boolean" },
      commit: { type: "string" },
      json: { type: "boolean" },
      help: { type: "boolean" },
    },
  }).values;
}

function problemOf({ to, commit, tarball = false }: Options): string | undefined {
  if (to === "") return '--to "" is empty. Name a folder, such as --to /opt/collections/1.4.0.';
  if (to !== undefined && to.endsWith(".tar.gz") !== tarball) {
    return tarball
      ? `--to "${to}" must end with .tar.gz, because --tarball makes an archive.`
      : `--to "${to}" is the name of an archive. Add --tarball, or name a folder.`;
  }
  if (commit !== undefined && !/^[0-9a-f]{7,64}$/.test(commit)) {
    return `--commit "${commit}" must be a git commit: 7 to 64 hexadecimal digits.`;
  }
  return undefined;
}

async function make({ to, tarball = false, commit }: Options): Promise<MadeRelease> {
  const origin = await readOrigin(commit);
  const name = `collections-${origin.version}-${origin.commit.slice(0, 12)}${tarball ? ".tar.gz" : ""}`;
  const path = to === undefined ? join(ROOT, "dist", name) : resolve(to);
  return makeRelease({ path, tarball, origin, draft: draftRemovedOnSignal(path) });
}

/** Returns the path of the draft of a release. From then on, a signal that ends this process removes the draft. */
function draftRemovedOnSignal(path: string): string {
  const draft = `${path}.draft-${randomBytes(6).toString("hex")}`;
  for (const [signal, exitCode] of [
    ["SIGINT", 130],
    ["SIGTERM", 143],
  ] as const) {
    process.once(signal, () => {
      rmSync(draft, { recursive: true, force: true });
      process.exit(exitCode);
    });
  }
  return draft;
}

function textOf({ path, version, commit, modified, files }: MadeRelease): string {
  const state = modified ? `${commit}, with uncommitted changes` : commit;
  return `Made ${relative(process.cwd(), path) || path}: version ${version}, commit ${state}, ${files} files\n`;
}

function refuse(message: string): number {
  process.stderr.write(`${message}\n\n${HELP}`);
  return 2;
}
