import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const PACKAGE_DIRS = ["packages", "services", "sites", "tooling"];
/** Libraries for HTTP, GraphQL and the command line. Packages under packages/ must not depend on them. */
const TRANSPORT_LIBRARIES = /^(express|graphql|graphql-yoga|@pothos\/.+|commander|helmet)$/;

interface Manifest {
  name: string;
  dependencies?: Record<string, string>;
}

interface Ran {
  failed: boolean;
  output: string;
}

/** Runs a tool of the repository in `cwd`. Returns whether the tool failed, and its output. */
function run(tool: string, args: string[], cwd: string): Promise<Ran> {
  const env = { ...process.env, TURBO_TELEMETRY_DISABLED: "1", DO_NOT_TRACK: "1" };
  return new Promise((resolve) => {
    execFile(join(ROOT, "node_modules/.bin", tool), args, { cwd, env }, (error, stdout, stderr) => {
      resolve({ failed: error !== null, output: stdout + stderr });
    });
  });
}

/**
 * Returns false for files that the copy of the repository does not need: generated files, and experiments in the root
 * of a package.
 */
function isSource(path: string): boolean {
  return !/node_modules|\/dist$|\.turbo$|(packages|services|sites|tooling)\/[^/]+\/[^/]+\.ts$/.test(path);
}

async function manifests(dir: string): Promise<Manifest[]> {
  const names = await readdir(join(ROOT, dir));
  return Promise.all(
    names.map(async (name) => JSON.parse(await readFile(join(ROOT, dir, name, "package.json"), "utf8")) as Manifest),
  );
}

describe("the dependencies between packages", () => {
  let copy: string;

  beforeAll(async () => {
    copy = await mkdtemp(join(tmpdir(), "guards-"));
    for (const name of ["package.json", "pnpm-workspace.yaml", "pnpm-lock.yaml", "turbo.json", ...PACKAGE_DIRS]) {
      await cp(join(ROOT, name), join(copy, name), { recursive: true, filter: isSource });
    }
  });

  afterAll(() => rm(copy, { recursive: true, force: true }));

  async function withBreak(file: string, change: (text: string) => string): Promise<Ran> {
    const path = join(copy, file);
    const before = await readFile(path, "utf8");
    await writeFile(path, change(before));
    try {
      return await run("turbo", ["boundaries", "--no-color"], copy);
    } finally {
      await writeFile(path, before);
    }
  }

  test("are valid in the present tree", async () => {
    const { failed, output } = await run("turbo", ["boundaries", "--no-color"], copy);
    expect(output).toContain("no issues found");
    expect(failed).toBe(false);
  });

  test("are invalid if a package imports an undeclared package", async () => {
    const ran = await withBreak("packages/ledger/src/index.ts", (text) => `${text}\nimport "@collections/cases";\n`);
    expect(ran).toMatchObject({ failed: true });
    expect(ran.output).toContain("cannot import package `@collections/cases`");
  });

  test.each([
    ["a domain depends on another domain", "packages/bookings/package.json", "@collections/cases"],
    ["a domain depends on a flow", "packages/bookings/package.json", "@collections/flows"],
    ["a foundation depends on a domain", "packages/ledger/package.json", "@collections/bookings"],
    ["a flow depends on the service", "packages/flows/package.json", "@collections/collections"],
    ["a site depends on a domain", "sites/field-app/package.json", "@collections/cases"],
    ["the console depends on a flow", "sites/console/package.json", "@collections/flows"],
    ["a site depends on the service", "sites/field-app/package.json", "@collections/collections"],
    ["tooling depends on a domain", "tooling/postgres/package.json", "@collections/bookings"],
  ])("are invalid if %s", async (_, file, dependency) => {
    const ran = await withBreak(file, (text) => {
      const manifest = JSON.parse(text) as Manifest;
      manifest.dependencies = { ...manifest.dependencies, [dependency]: "workspace:*" };
      return JSON.stringify(manifest);
    });
    expect(ran).toMatchObject({ failed: true });
  });

  test("are invalid if a relative import leaves its package", async () => {
    const leave = `\nimport "../../money/src/index.ts";\n`;
    const ran = await withBreak("packages/ledger/src/index.ts", (text) => text + leave);
    expect(ran).toMatchObject({ failed: true });
  });

  test("of packages/ include no transport library and no tooling at run time", async () => {
    for (const { name, dependencies = {} } of await manifests("packages")) {
      const wrong = Object.keys(dependencies).filter(
        (dependency) =>
          TRANSPORT_LIBRARIES.test(dependency) ||
          /^@collections\/(browser|testing|lender-twin|postgres|bench|citus)$/.test(dependency),
      );
      expect({ name, wrong }).toEqual({ name, wrong: [] });
    }
  });
});

describe("lint", () => {
  let folder: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "guards-"));
    await cp(join(ROOT, ".oxlintrc.json"), join(folder, ".oxlintrc.json"));
  });

  afterAll(() => rm(folder, { recursive: true, force: true }));

  async function lint(file: string, text: string): Promise<Ran> {
    const path = join(folder, file);
    await mkdir(join(path, ".."), { recursive: true });
    await writeFile(path, text);
    return run("oxlint", [path], folder);
  }

  test("accepts a correct file", async () => {
    const honest = 'import { transaction } from "@collections/database";\nexport const open = transaction;\n';
    expect(await lint("packages/ledger/src/honest.ts", honest)).toMatchObject({ failed: false });
  });

  test("rejects a transaction that is not opened by transaction()", async () => {
    const text =
      "export function open(em: { transactional(work: () => void): void }): void {\n  em.transactional(() => {});\n}\n";
    const ran = await lint("packages/ledger/src/opens.ts", text);
    expect(ran).toMatchObject({ failed: true });
    expect(ran.output).toContain("no-restricted-properties");
  });

  test("rejects a connection that may not obey the whole URL", async () => {
    const text = 'import { Client } from "pg";\nexport const client = new Client();\n';
    const ran = await lint("packages/database/src/opens.ts", text);
    expect(ran).toMatchObject({ failed: true });
    expect(ran.output).toContain("newClient()");
  });

  test("rejects circular imports, even if they import only types", async () => {
    const path = join(folder, "packages/ledger/src");
    await mkdir(path, { recursive: true });
    await writeFile(join(path, "one.ts"), 'import type { Two } from "./two.ts";\nexport type One = { two?: Two };\n');
    const two = 'import type { One } from "./one.ts";\nexport type Two = { one?: One };\n';
    const ran = await lint("packages/ledger/src/two.ts", two);
    expect(ran).toMatchObject({ failed: true });
    expect(ran.output).toContain("no-cycle");
  });

  test.each([
    ["a deep import", "packages/flows/src/deep.ts", "@collections/bookings/src/books/booking.ts"],
    ["a schema import outside the composition root", "packages/flows/src/schema.ts", "@collections/bookings/schema"],
    ["tooling in production code", "packages/flows/src/twin.ts", "@collections/lender-twin"],
  ])("refuses %s", async (_, file, specifier) => {
    const ran = await lint(file, `import { thing } from "${specifier}";\nexport const one = thing;\n`);
    expect(ran).toMatchObject({ failed: true });
    expect(ran.output).toContain("no-restricted-imports");
  });
});

test("importing a file of a package that is not an entry point fails at run time", async () => {
  const ran = await run(
    "node",
    ["--input-type=module", "-e", 'await import("@collections/bookings/src/books/booking.ts")'],
    join(ROOT, "packages/flows"),
  );
  expect(ran).toMatchObject({ failed: true });
  expect(ran.output).toContain("ERR_PACKAGE_PATH_NOT_EXPORTED");
});
