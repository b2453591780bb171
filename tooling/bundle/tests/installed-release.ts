import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, chownSync, copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterFile } from "@collections/testing";
import { makeRelease } from "../src/release/make-release.ts";
import { unitCommand, type UnitName } from "./unit-file.ts";

const NOBODY = 65_534;
/** An unprivileged account, as in the units. Empty if this process has no right to change its account. */
const ACCOUNT = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};

/** A running process of a unit. */
export interface UnitProcess {
  readonly pid: number;
  /** The address that the process prints when it is ready. */
  readonly url: string;
  log(): string;
  /** Sends the signal. Returns the exit code. */
  end(signal: NodeJS.Signals): Promise<number | null>;
}

export interface Finished {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A root folder outside of the checkout, with the release, Node and the settings at the paths that the units name. */
export class InstalledRelease {
  readonly #root: string;

  private constructor(root: string) {
    this.#root = root;
  }

  /** Installs a release of the present sources. It is removed after the test file. */
  static async install(): Promise<InstalledRelease> {
    const root = mkdtempSync(join(tmpdir(), "collections-installed-"));
    afterFile(() => rmSync(root, { recursive: true, force: true }));
    chmodSync(root, 0o755);
    for (const folder of ["usr/bin", "opt/collections", "etc/collections", "var/cache/collections"]) {
      mkdirSync(join(root, folder), { recursive: true });
    }
    if (ACCOUNT.uid !== undefined) chownSync(join(root, "var/cache/collections"), ACCOUNT.uid, ACCOUNT.gid);
    // The account may have no right to enter the folder of this process's Node.
    copyFileSync(process.execPath, join(root, "usr/bin/node"));
    const installed = new InstalledRelease(root);
    const origin = { version: "1.2.3", commit: "0123abcd" };
    const draft = `${installed.folder}.draft`;
    await makeRelease({ path: installed.folder, draft, tarball: false, origin });
    return installed;
  }

  get folder(): string {
    return join(this.#root, "opt/collections/current");
  }

  /** Writes a file below /etc/collections with these variables. */
  configure(file: string, settings: Readonly<Record<string, string>>): void {
    const lines = Object.entries(settings).map(([name, value]) => `${name}=${value}\n`);
    writeFileSync(join(this.#root, "etc/collections", file), lines.join(""));
  }

  /** Starts the unit with a clean environment, and waits until it is ready. It is killed after the test file. */
  async start(unit: UnitName): Promise<UnitProcess> {
    const { file, args, cwd, env } = unitCommand(unit, this.#root);
    const child = spawn(file, args, { cwd, env, ...ACCOUNT, stdio: ["ignore", "pipe", "pipe"] });
    afterFile(() => child.kill("SIGKILL"));
    let log = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => (log += text));
    const ended = once(child, "exit") as Promise<[number | null]>;
    const url = await new Promise<string>((resolve, reject) => {
      child.stdout.setEncoding("utf8").on("data", (text: string) => {
        const ready = /is ready at (\S+)\n/.exec(text)?.[1];
        if (ready !== undefined) resolve(ready);
      });
      void ended.then(([code]) => reject(new Error(`${unit} ended with ${code} before it was ready:\n${log}`)));
    });
    return {
      pid: child.pid!,
      url,
      log: () => log,
      async end(signal) {
        child.kill(signal);
        const [code] = await ended;
        return code;
      },
    };
  }

  /** Runs a unit that ends by itself. */
  run(unit: UnitName): Promise<Finished> {
    return finished(unitCommand(unit, this.#root));
  }

  /** Runs a program of the release with Node, outside of its folder and with nothing but `env` in the environment. */
  node(env: Readonly<Record<string, string>>, program: string, ...args: string[]): Promise<Finished> {
    const file = join(this.#root, "usr/bin/node");
    return finished({ file, args: [join(this.folder, program), ...args], cwd: dirname(file), env });
  }
}

async function finished({ file, args, cwd, env }: ReturnType<typeof unitCommand>): Promise<Finished> {
  try {
    return { code: 0, ...(await promisify(execFile)(file, args, { cwd, env, ...ACCOUNT })) };
  } catch (error) {
    return error as Finished;
  }
}
