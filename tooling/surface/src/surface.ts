import { dirname, join } from "node:path";
import {
  type Declaration,
  type DeclaredModule,
  type Place,
  readModule,
  UnreadableDeclarationError,
} from "./declared-module.ts";
import type { WorkspacePackage } from "./workspace.ts";

/** A declaration with its exported name. */
export interface Export extends Declaration {
  readonly name: string;
  /** Its name in its own file. */
  readonly declaredName: string;
}

/** A name that a package re-exports from another package. */
export interface ReExport {
  readonly name: string;
  readonly from: string;
  readonly isType: boolean;
}

/** Everything that a package's users can see. */
export interface Surface {
  readonly of: WorkspacePackage;
  /** The exports of the package's main entry point. */
  readonly exports: readonly Export[];
  readonly reExports: readonly ReExport[];
  /** The exports of `name/schema`. */
  readonly schema: readonly Export[];
  /** Types that are not exported but are part of an exported type: changing them changes the surface. */
  readonly internalTypes: readonly Export[];
}

/** Reads the surface of a package from the folder of `withDeclarations`. All lists are sorted by name. */
export function readSurface(of: WorkspacePackage, declarations: string): Surface {
  const modules = new Modules();
  const entryPoint = (name: string) => modules.behind(join(declarations, of.folder, `src/${name}.d.ts`));
  const { found, reExports } = entryPoint("index");
  const schema = of.hasSchema ? entryPoint("schema").found : [];
  const internalTypes = modules.internalTypes([...found, ...schema]);
  return {
    of,
    exports: exportsOf(found),
    reExports: reExports.toSorted((a, b) => compare(a.name, b.name)),
    schema: exportsOf(schema),
    internalTypes: exportsOf(internalTypes),
  };
}

/** A declaration that was found: its text, the name that was looked up, and the file that contains it. */
interface Found {
  readonly name: string;
  readonly declaredName: string;
  readonly file: string;
  readonly declaration: Declaration;
  readonly isType?: boolean;
}

class Modules {
  readonly #modules = new Map<string, DeclaredModule>();

  /** Returns the exports of an entry point: those of its own package, and those re-exported from other packages. */
  behind(entryPoint: string): { found: Found[]; reExports: ReExport[] } {
    const found: Found[] = [];
    const reExports: ReExport[] = [];
    for (const [name, { isType = false, ...place }] of this.#module(entryPoint).exports) {
      const one = this.#find(place, entryPoint);
      if (typeof one === "string") reExports.push({ name, from: one, isType });
      else if (one) found.push({ ...one, name, isType });
      else throw new UnreadableDeclarationError(entryPoint, `${name} is exported but not declared`);
    }
    return { found, reExports };
  }

  /** Returns the types that `exported` refers to, directly or indirectly, except the exported types. */
  internalTypes(exported: readonly Found[]): Found[] {
    const internalTypes: Found[] = [];
    const seen = new Set(exported.map(({ declaration }) => declaration));
    const waiting = [...exported];
    for (let next = waiting.pop(); next; next = waiting.pop()) {
      for (const place of next.declaration.references) {
        const found = this.#find(place, next.file);
        if (found === undefined || typeof found === "string" || seen.has(found.declaration)) continue;
        seen.add(found.declaration);
        internalTypes.push(found);
        waiting.push(found);
      }
    }
    return internalTypes.map((one) =>
      internalTypes.some(({ name, file }) => name === one.name && file !== one.file) ? named(one) : one,
    );
  }

  /**
   * Finds the declaration behind a name, through all re-exports. Returns the package's name if another package declares
   * it.
   */
  #find({ name, from }: Place, file: string): Found | string | undefined {
    if (from !== undefined && !from.startsWith(".")) return from;
    const target = from === undefined ? file : join(dirname(file), from.replace(/\.ts$/, ".d.ts"));
    const { declarations, imports, exports } = this.#module(target);
    const declaration = declarations.get(name);
    if (declaration) return { name, declaredName: name, file: target, declaration };
    const elsewhere = from === undefined ? imports.get(name) : exports.get(name);
    return elsewhere && this.#find(elsewhere, target);
  }

  #module(file: string): DeclaredModule {
    const known = this.#modules.get(file) ?? readModule(file);
    this.#modules.set(file, known);
    return known;
  }
}

/**
 * Adds the file to the name of a declaration that was found, because two files may each have a type with the same name.
 */
function named(found: Found): Found {
  const file = found.file.replace(/^.*\/src\//, "").replace(/\.d\.ts$/, ".ts");
  return { ...found, name: `${found.name} of ${file}` };
}

/** The exports, sorted by name. A class that is only exported as a type counts as a type. */
function exportsOf(found: readonly Found[]): Export[] {
  const exports = found.map(({ name, declaredName, declaration, isType }): Export => {
    return { ...declaration, name, declaredName, kind: isType ? "type" : declaration.kind };
  });
  return exports.toSorted((a, b) => compare(a.name, b.name));
}

/** Compares by code units, independent of the machine's locale. */
function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}
