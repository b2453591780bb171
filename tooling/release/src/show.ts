import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { promisify } from "node:util";
import { outdated, outdatedText, readRegistry, readVerdicts } from "@collections/citus";
import { packAll, ROOT, type Tarball } from "./pack-all.ts";

/*
 * `pnpm release:show`: lists what a release would publish, with the changesets. It publishes nothing and does not
 * change the tree. It exits with 1 if a statement has no current verdict of a cluster, because a release must run on a
 * cluster.
 */
interface Release {
  readonly name: string;
  readonly newVersion: string;
  readonly changesets: readonly string[];
}

const folder = await mkdtemp(join(tmpdir(), "collections-release-show-"));
try {
  const [tarballs, releases] = [await packAll(join(folder, "tarballs")), await plannedReleases()];
  const lines = tarballs.map((tarball) => lineOf(tarball, releases.get(tarball.name)));
  process.stdout.write(`${lines.join("\n")}\n`);
  const missing = outdatedText(outdated((await readRegistry()).statements, await readVerdicts()));
  if (missing !== "") process.stderr.write(`Not ready for a release. ${missing}\n`);
  process.exitCode = missing === "" ? 0 : 1;
} finally {
  await rm(folder, { recursive: true, force: true });
}

/** The releases that follow from the changesets. All packages have the same version. */
async function plannedReleases(): Promise<ReadonlyMap<string, Release>> {
  const plan = join(folder, "plan.json");
  const changeset = join(ROOT, "node_modules/.bin/changeset");
  await promisify(execFile)(changeset, ["status", "--output", relative(ROOT, plan)], { cwd: ROOT });
  const { releases } = JSON.parse(await readFile(plan, "utf8")) as { releases: Release[] };
  return new Map(releases.map((release) => [release.name, release]));
}

function lineOf({ name, version, bytes, files }: Tarball, release: Release | undefined): string {
  const change = release ? `${version} -> ${release.newVersion}` : `${version}, no change`;
  const size = `${Math.ceil(bytes / 1024)} KiB, ${files.length} files`;
  const because = release && release.changesets.length > 0 ? `; changesets: ${release.changesets.join(", ")}` : "";
  return `${name.padEnd(30)} ${change.padEnd(18)} ${size}${because}`;
}
