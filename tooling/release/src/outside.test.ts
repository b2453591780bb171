import { directUrl, emptyDatabase } from "@collections/testing";
import { existsSync } from "node:fs";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { isBuiltin } from "node:module";
import { dirname, join } from "node:path";
import { Client } from "pg";
import { beforeAll, describe, expect, test } from "vitest";
import { writeChecksums } from "./checksums.ts";
import { CommandError, run } from "./command.ts";
import { EXAMPLES, copyExamples, exampleNames, importedBy, promisedOutputs, readManifest } from "./example.ts";
import { HOST } from "./host-script.ts";
import { installAlone } from "./install-alone.ts";
import { HOST_OVERRIDES, installOutside, type Outside } from "./outside.ts";
import { ROOT } from "./pack-all.ts";

const TSC = join(ROOT, "node_modules/typescript/bin/tsc");

interface Manifest {
  name: string;
  license: string;
  type: string;
  exports: Record<string, string | { types: string; default: string }>;
  dependencies?: Record<string, string>;
  peerDependencies?: Record<string, string>;
  engines: { node: string };
}

let outside: Outside;
let manifests: Manifest[];

beforeAll(async () => {
  outside = await installOutside();
  return () => outside.remove();
});

beforeAll(async () => {
  manifests = await Promise.all(outside.tarballs.map(({ name }) => manifestOf(name)));
});

async function manifestOf(name: string): Promise<Manifest> {
  return JSON.parse(await readFile(join(outside.app, "node_modules", name, "package.json"), "utf8")) as Manifest;
}

/**
 * Returns the entry points of these packages that can be imported as modules, without those that are data files. Only a
 * data file has a file extension.
 */
function entryPoints(of = manifests): string[] {
  return of.flatMap(({ name, exports }) =>
    Object.keys(exports)
      .filter((entryPoint) => !/\.\w+$/.test(entryPoint))
      .map((entryPoint) => name + entryPoint.slice(1)),
  );
}

async function script(name: string, text: string): Promise<string> {
  await writeFile(join(outside.app, name), text);
  return name;
}

describe("the published packages", () => {
  test("contain the build output, the README and the licence, and no sources", async () => {
    const folders = (await readdir(join(ROOT, "packages"))).map((folder) => `@collections/${folder}`);
    expect(outside.tarballs.map(({ name }) => name).toSorted()).toEqual(folders.toSorted());
    for (const { name, files } of outside.tarballs) {
      expect(files, name).toEqual(expect.arrayContaining(["LICENSE", "README.md", "package.json", "dist/index.js"]));
      expect(files.filter((path) => /\.test\.|(?<!\.d)\.ts$|^src|^tests/.test(path))).toEqual([]);
      const modules = files.filter((path) => path.endsWith(".js"));
      const withoutMap = modules.filter((path) => !files.includes(`${path}.map`));
      // A module that only exports from others has no map.
      for (const path of withoutMap) {
        expect(await readFile(join(outside.app, "node_modules", name, path), "utf8"), path).toMatch(
          /^(?:(?:im|ex)port [^\n]*\n?)*$/,
        );
      }
    }
  });

  test("contain the licences of the libraries that are packed inside of them", async () => {
    const withLibraries = outside.tarballs.filter(({ files }) => files.includes("dist/LICENSES.txt"));
    expect(withLibraries.map(({ name }) => name)).toEqual(["@collections/pg-boss"]);
    const dist = join(outside.app, "node_modules/@collections/pg-boss/dist");
    const { sources } = JSON.parse(await readFile(join(dist, "index.js.map"), "utf8")) as { sources: string[] };
    const inside = new Set(sources.flatMap((path) => /^node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? []));
    expect([...inside]).toEqual(expect.arrayContaining(["cron-parser", "luxon", "pg-boss"]));
    const licences = (await readFile(join(dist, "LICENSES.txt"), "utf8")).split(/^-{80}$/m).slice(1);
    expect(licences.map((text) => /^\s*(\S+) \d+\.\d+\.\d+ \(MIT\)$/m.exec(text)?.[1])).toEqual([...inside].toSorted());
    for (const text of licences) expect(text).toMatch(/Copyright.*Permission is hereby granted.*WITHOUT WARRANTY/s);
  });

  test("have their checksums in a file that `sha256sum --check` reads", async () => {
    const folder = dirname(outside.tarballs[0]!.path);
    const files = await writeChecksums(folder, outside.tarballs);
    const { stdout } = await run("sha256sum", ["--check", "SHA256SUMS"], { cwd: folder });
    expect(stdout.trim().split("\n").toSorted()).toEqual(files.map(({ file }) => `${file}: OK`).toSorted());
  });

  test("name exact versions, a licence, the Node version, and the types of each entry point", () => {
    for (const { name, license, type, engines, dependencies = {}, exports } of manifests) {
      expect({ license, type }, name).toEqual({ license: "Apache-2.0", type: "module" });
      expect([...outside.floors.keys()], name).toContain(engines.node);
      expect(Object.values(dependencies).filter((range) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(range))).toEqual([]);
      const untyped = Object.values(exports).filter(
        (entryPoint) => typeof entryPoint !== "string" && !entryPoint.types.endsWith(".d.ts"),
      );
      expect(untyped).toEqual([]);
    }
  });
});

describe("a package that a host uses alone", () => {
  test.each([
    { name: "ledger", needed: ["ledger", "database", "money"], packages: 6, mb: 2 },
    { name: "webhooks", needed: ["webhooks", "database", "outbound", "pg-boss", "signing"], packages: 20, mb: 10 },
  ])(
    "beyond pg, $name installs at most $packages packages with $mb MB, and neither MikroORM nor pg-boss",
    async ({ name, needed, ...most }) => {
      const names = new Set(needed.map((one) => `@collections/${one}`));
      const paths = outside.tarballs.filter((tarball) => names.has(tarball.name)).map(({ path }) => path);
      const alone = dirname(outside.app);
      const ofPg = new Set((await installAlone(join(alone, `pg-${name}`), ["pg"])).keys());
      const installed = [...(await installAlone(join(alone, name), paths))].filter(([path]) => !ofPg.has(path));
      expect(installed.map(([path]) => path)).toContain(`@collections/${name}`);
      expect(installed.filter(([path]) => /mikro|kysely|^pg-boss|luxon/.test(path))).toEqual([]);
      expect(installed.length).toBeLessThanOrEqual(most.packages);
      expect(installed.reduce((sum, [, bytes]) => sum + bytes, 0) / 1e6).toBeLessThanOrEqual(most.mb);
    },
  );
});

test("jobs without @collections/pg-boss name the file to install", async () => {
  const folder = join(dirname(outside.app), "without-jobs");
  const { path } = outside.tarballs.find(({ name }) => name === "@collections/database")!;
  await installAlone(folder, [path]);
  await writeFile(
    join(folder, "migrate.js"),
    `import { migrate } from "@collections/database";
     const at = { url: process.argv[2], schemas: [] };
     const { applied } = await migrate(at);
     console.log(applied.length, await migrate({ ...at, jobs: true }).catch((error) => error.message));`,
  );
  const url = directUrl((await emptyDatabase()).url);
  const { stdout } = await run(process.execPath, ["migrate.js", url], { cwd: folder });
  expect(stdout.trim()).toBe(
    "0 Jobs need @collections/pg-boss, which is not installed. Install its file of the same release: npm install ./collections-pg-boss-*.tgz.",
  );
});

describe("outside of the workspace", () => {
  test("every entry point of every package can be imported on this Node and on the oldest supported one", async () => {
    const file = await script(
      "open.js",
      `for (const entryPoint of process.argv.slice(2)) if (Object.keys(await import(entryPoint)).length === 0) throw entryPoint;
       console.log(process.versions.node);`,
    );
    const openedOn = async (node: string, named: string[]): Promise<string> =>
      (await run(node, [file, ...named], { cwd: outside.app })).stdout.trim();
    expect(await openedOn(process.execPath, entryPoints())).toBe(process.versions.node);
    for (const [range, node] of outside.floors) {
      const promised = entryPoints(manifests.filter(({ engines }) => engines.node === range));
      expect(promised.length, range).toBeGreaterThan(2);
      expect(await openedOn(node, promised)).toBe(`${range.slice(2)}.0`);
    }
  });

  test("only one copy of pg is installed if the host uses the overrides in the README of the entities package", async () => {
    const readme = await readFile(join(ROOT, "packages/entities/README.md"), "utf8");
    expect(readme).toContain(`"overrides": ${JSON.stringify(HOST_OVERRIDES)}`);
    const installed = await readdir(join(outside.app, "node_modules"), { recursive: true });
    const copies = installed.filter((path) => /(^|\/)node_modules\/pg\/package\.json$/.test(`node_modules/${path}`));
    expect(copies).toEqual(["pg/package.json"]);
  });

  test("the published command shows its help, and exits with 2 for invalid arguments, on each Node", async () => {
    const command = join(outside.app, "node_modules/.bin/conformance");
    for (const node of [process.execPath, ...outside.floors.values()]) {
      // Start the command by its first line (#!), as a shell does. That line takes Node from the PATH.
      const env = { PATH: dirname(node) };
      expect((await run(command, ["--help"], { env })).stdout).toContain("--receiver URL");
      const refused = { exitCode: 2, stderr: expect.stringContaining("See --help.") as string };
      await expect(run(command, ["--no-such-option"], { env })).rejects.toMatchObject(refused);
    }
  });

  test("all declarations and examples compile in a strict project without skipLibCheck", async () => {
    const faults = (await everythingCompiled()).split("\n");
    const ours = faults.filter((line) => /^(typed\.ts|examples|node_modules\/@collections|error )/.test(line));
    expect(ours).toEqual([expect.stringMatching(/^typed\.ts\(\d+,14\): error TS2322: /)]);
  });

  test("without skipLibCheck, tsc reports only the error in postgres-interval that the README of the entities names", async () => {
    const names = ["@collections/database", "@collections/entities", "@collections/ledger", "@collections/webhooks"];
    const lines = names.map((name, index) => `export * as package${index} from ${JSON.stringify(name)};`);
    const file = await script("dependencies.ts", lines.join("\n"));
    expect(packagesOf(await compile("es2024", [file]))).toEqual(["postgres-interval"]);
    expect(packagesOf(await everythingCompiled())).not.toContain("postgres-interval");
  });

  test("ten processes on both Nodes migrate two packages in one empty database at once, and each migration runs once", async () => {
    const url = directUrl((await emptyDatabase()).url);
    const file = await script(
      "migrate.js",
      `import { bookingsSchema } from "@collections/bookings/schema";
       import { migrate } from "@collections/database";
       import { webhooksSchema } from "@collections/webhooks/schema";
       const schemas = process.argv[3].split(",").map((name) => ({ bookings: bookingsSchema, webhooks: webhooksSchema })[name]);
       const { applied, unknown } = await migrate({ url: process.argv[2], schemas, jobs: true });
       console.log(JSON.stringify({ applied, unknown, known: schemas.flatMap((s) => s.migrations.map((m) => s.name + "/" + m.name)) }));`,
    );
    const wishes = ["bookings", "webhooks", "bookings,webhooks", "webhooks,bookings", "bookings"];
    const outcomes = await Promise.all(
      outside.nodes.flatMap((node) => wishes.map((wish) => run(node, [file, url, wish], { cwd: outside.app }))),
    );
    const told = outcomes.map(({ stdout }) => JSON.parse(stdout) as Record<"applied" | "unknown" | "known", string[]>);
    expect(told.flatMap(({ unknown }) => unknown)).toEqual([]);
    const all = [...new Set(told.flatMap(({ known }) => known))];
    expect(told.flatMap(({ applied }) => applied).toSorted()).toEqual(all.toSorted());
  });

  test("migrating one package creates no table of another package", async () => {
    const file = await script(
      "alone.js",
      `import { migrate } from "@collections/database";
       import { createDatabase } from "@collections/entities";
       const brought = [];
       for (const [entryPoint, url] of JSON.parse(process.argv[2])) {
         const schema = Object.values(await import(entryPoint)).find((it) => Array.isArray(it.migrations));
         await migrate({ url, schemas: [schema], jobs: true });
         const database = await createDatabase({ url, schemas: [schema] });
         for (const entity of schema.entities ?? []) await database.em().find(entity, {}, { limit: 1 });
         for (const { name } of schema.tables ?? []) await database.pool.query("select from " + name + " limit 1");
         await database.close();
         brought.push(["collections_jobs", "public.collections_job_commit", "public.collections_migration", "public.collections_migration_digest", ...(schema.migrations.length > 0 ? [schema.name] : [])]);
       }
       console.log(JSON.stringify(brought));`,
    );
    const schemaEntryPoints = entryPoints().filter((entryPoint) => entryPoint.endsWith("/schema"));
    expect(schemaEntryPoints).toHaveLength(11);
    const urls = await Promise.all(schemaEntryPoints.map(async () => directUrl((await emptyDatabase()).url)));
    const pairs = JSON.stringify(schemaEntryPoints.map((entryPoint, index) => [entryPoint, urls[index]]));
    const { stdout } = await run(outside.nodes[1], [file, pairs], { cwd: outside.app });
    const brought = JSON.parse(stdout) as string[][];
    expect(await Promise.all(urls.map(placesOfTables))).toEqual(brought.map((places) => places.toSorted()));
  });

  test("a host commits its own row, ledger entries and an event together or not at all", async () => {
    const file = await script("host.js", HOST);
    for (const node of outside.nodes) {
      const url = directUrl((await emptyDatabase()).url);
      const { stdout } = await run(node, [file, url], { cwd: outside.app });
      const nothing = { orders: 0, transfers: 0, events: 0 };
      const both = { orders: 1, transfers: 1, events: 1 };
      expect(JSON.parse(stdout)).toEqual([nothing, both, both, { orders: 2, transfers: 2, events: 2 }]);
    }
  });
});

describe("a published package", () => {
  test("imports only its declared dependencies", async () => {
    for (const manifest of manifests) expect(await undeclaredImports(manifest), manifest.name).toEqual([]);
  });

  test("is reported if it imports a package that it does not declare", async () => {
    const ledger = manifests.find(({ name }) => name === "@collections/ledger")!;
    const { "@collections/money": _, ...dependencies } = ledger.dependencies!;
    expect(await undeclaredImports({ ...ledger, dependencies })).toEqual(["@collections/money"]);
  });

  test("is reported if its declarations import a package whose types it does not declare", async () => {
    const database = manifests.find(({ name }) => name === "@collections/database")!;
    const { "@types/pg": _, ...peerDependencies } = database.peerDependencies!;
    expect(await undeclaredImports({ ...database, peerDependencies })).toEqual(["@types/pg"]);
  });
});

describe.each(exampleNames())("the example %s", (name) => {
  test("declares exactly the packages that it imports, and our packages in the versions that were packed", async () => {
    const { dependencies = {} } = await readManifest(join(EXAMPLES, name));
    expect(Object.keys(dependencies).toSorted()).toEqual((await importedBy(name)).toSorted());
    const versions = Object.fromEntries(outside.tarballs.map((tarball) => [tarball.name, tarball.version]));
    expect(dependencies).toEqual({ ...dependencies, ...pick(versions, Object.keys(dependencies)) });
  });

  test("runs on this Node and on the oldest supported one, and prints what its README shows", async () => {
    const folder = join(outside.examples, name);
    const { scripts, engines } = await readManifest(folder);
    const start = scripts!.start!.split(" ").slice(1);
    const url = directUrl((await emptyDatabase()).url);
    const env = { PATH: process.env["PATH"], DATABASE_URL: url };
    const printed: string[] = [];
    const oldest = outside.floors.get(engines.node)!;
    for (const node of [process.execPath, oldest]) {
      printed.push((await run(node, start, { cwd: folder, env })).stdout);
    }
    const [first, again = first] = await promisedOutputs(name);
    expect(printed).toEqual([first, again]);
  });
});

const IMPORT = /\b(?:from\s*|import\s*\(?\s*|require\s*\(\s*)"([^".#\s][^"\s]*)"/g;
const COMMENT_LINE = /^\s*(?:\*|\/\*|\/\/)/;

/**
 * Returns, sorted, the packages that the published code and declarations import but the manifest does not declare. A
 * declaration may import a package whose types are in an `@types` package. Then that `@types` package must be declared
 * too.
 */
async function undeclaredImports({ name, dependencies = {}, peerDependencies = {} }: Manifest): Promise<string[]> {
  const declared = { ...dependencies, ...peerDependencies };
  const { files } = outside.tarballs.find((tarball) => tarball.name === name)!;
  const found = new Set<string>();
  for (const file of files.filter((path) => /\.(?:js|d\.ts)$/.test(path))) {
    const text = await readFile(join(outside.app, "node_modules", name, file), "utf8");
    const code = text.split("\n").filter((line) => !COMMENT_LINE.test(line));
    for (const [, specifier = ""] of code.join("\n").matchAll(IMPORT)) {
      if (isBuiltin(specifier)) continue;
      const used = /^(@[^/]+\/)?[^/]+/.exec(specifier)![0];
      found.add(used);
      const types = `@types/${used.replace(/^@(.+)\//, "$1__")}`;
      if (file.endsWith(".d.ts") && existsSync(join(outside.app, "node_modules", types))) found.add(types);
    }
  }
  return [...found].filter((used) => used !== name && !Object.hasOwn(declared, used)).toSorted();
}

function isTypeScript(path: string): boolean {
  return path.endsWith(".ts");
}

function pick(all: Record<string, string>, names: string[]): Record<string, string> {
  return Object.fromEntries(names.flatMap((name) => (all[name] === undefined ? [] : [[name, all[name]]])));
}

/** Returns the schemas that have tables, sorted; for `public`, which belongs to no package, each of its tables. */
async function placesOfTables(url: string): Promise<string[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query<{ place: string }>(
    `select distinct case table_schema when 'public' then 'public.' || table_name else table_schema end as place
     from information_schema.tables where table_schema not in ('pg_catalog', 'information_schema')`,
  );
  await client.end();
  return rows.map(({ place }) => place).toSorted();
}

let compiled: Promise<string> | undefined;

/** Returns the compiler's errors in a strict project that imports all entry points and has all examples. */
function everythingCompiled(): Promise<string> {
  return (compiled ??= compileEverything());
}

async function compileEverything(): Promise<string> {
  const lines = entryPoints().map(
    (entryPoint, index) => `export * as entryPoint${index} from ${JSON.stringify(entryPoint)};`,
  );
  await copyExamples(EXAMPLES, join(outside.app, "examples"));
  const written = (await readdir(join(outside.app, "examples"), { recursive: true })).filter(isTypeScript);
  // Write one intentional error, which proves that the compiler reached the file.
  const wrong = "export const wrong: string = 1;";
  await script("typed.ts", [...lines, wrong].join("\n"));
  const files = ["typed.ts", ...written.map((file) => join("examples", file))];
  return compile("es2024,esnext", files, ["--exactOptionalPropertyTypes"]);
}

function compile(lib: string, files: readonly string[], checks: readonly string[] = []): Promise<string> {
  const language = ["--module", "nodenext", "--target", "es2024", "--lib", lib, "--types", "node"];
  const options = [...language, "--noEmit", "--singleThreaded", "--allowImportingTsExtensions"];
  return compilerSays([TSC, ...options, "--strict", "--skipLibCheck", "false", ...checks, ...files]);
}

/** Returns the other packages in which the compiler found an error, once for each error, sorted. */
function packagesOf(output: string): string[] {
  const faults = output.matchAll(/^node_modules\/(?!@collections)([^/]+)\/.*: error /gm);
  return Array.from(faults, ([, name]) => name!).toSorted((a, b) => a.localeCompare(b));
}

/** Returns the compiler's output; empty if there are no errors. Throws if the compiler fails without output. */
async function compilerSays(args: string[]): Promise<string> {
  try {
    return (await run(process.execPath, args, { cwd: outside.app })).stdout;
  } catch (error) {
    if (!(error instanceof CommandError) || error.stdout === "") throw error;
    return error.stdout;
  }
}
