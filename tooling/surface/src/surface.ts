import { dirname, join } from "node:path";
import {
  type Declaration,
  type DeclaredModule,
  type Place,
  readModule,
  UnreadableDeclarationError,
} from "./declared-module.ts";
import type { WorkspacePackage } from "./workspace.ts";

/** A declaration with the name that others know it by. */
export interface Export extends Declaration {
  readonly name: string;
  /** The name that its own file gives it. */
  readonly declaredName: string;
}

/** A name that a package hands on from another one. */
export interface HandedOn {
  readonly name: string;
  readonly from: string;
  readonly isType: boolean;
}

/** All that others can see of a package. */
export interface Surface {
  readonly of: WorkspacePackage;
  /** Behind its name. */
  readonly exports: readonly Export[];
  readonly handedOn: readonly HandedOn[];
  /** Behind `name/schema`. */
  readonly schema: readonly Export[];
  /** Not exported, and yet part of a type that is, behind either door: who changes it changes the surface. */
  readonly beneath: readonly Export[];
}

/** Reads the surface of a package from the folder that `withDeclarations` gives; all lists are sorted by name. */
export function readSurface(of: WorkspacePackage, declarations: string): Surface {
  const modules = new Modules();
  const door = (name: string) => modules.behind(join(declarations, of.folder, `src/${name}.d.ts`));
  const { found, handedOn } = door("index");
  const schema = of.hasSchema ? door("schema").found : [];
  const beneath = modules.beneath([...found, ...schema]);
  return {
    of,
    exports: exportsOf(found),
    handedOn: handedOn.toSorted((a, b) => compare(a.name, b.name)),
    schema: exportsOf(schema),
    beneath: exportsOf(beneath),
  };
}

/** A declaration, by the name that is asked for and the file that it stands in. */
interface Found {
  readonly name: string;
  readonly declaredName: string;
  readonly file: string;
  readonly declaration: Declaration;
  readonly isType?: boolean;
}

class Modules {
  readonly #modules = new Map<string, DeclaredModule>();

  /** What a file exports: of its own package, and handed on from others. */
  behind(door: string): { found: Found[]; handedOn: HandedOn[] } {
    const found: Found[] = [];
    const handedOn: HandedOn[] = [];
    for (const [name, { isType = false, ...place }] of this.#module(door).exports) {
      const one = this.#find(place, door);
      if (typeof one === "string") handedOn.push({ name, from: one, isType });
      else if (one) found.push({ ...one, name, isType });
      else throw new UnreadableDeclarationError(door, `${name} is exported and nowhere declared`);
    }
    return { found, handedOn };
  }

  /** What the types of `exported` are made of, and what that is made of, without those that are exported anyway. */
  beneath(exported: readonly Found[]): Found[] {
    const beneath: Found[] = [];
    const seen = new Set(exported.map(({ declaration }) => declaration));
    const waiting = [...exported];
    for (let next = waiting.pop(); next; next = waiting.pop()) {
      for (const place of next.declaration.says) {
        const found = this.#find(place, next.file);
        if (found === undefined || typeof found === "string" || seen.has(found.declaration)) continue;
        seen.add(found.declaration);
        beneath.push(found);
        waiting.push(found);
      }
    }
    return beneath.map((one) =>
      beneath.some(({ name, file }) => name === one.name && file !== one.file) ? named(one) : one,
    );
  }

  /** The declaration behind a name, however often it is handed on; the package's name where it is another package's. */
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

/** Two files may have a type of the same name each. */
function named(found: Found): Found {
  const file = found.file.replace(/^.*\/src\//, "").replace(/\.d\.ts$/, ".ts");
  return { ...found, name: `${found.name} of ${file}` };
}

/** Sorted by name. A class that others only know as a type is a type to them. */
function exportsOf(found: readonly Found[]): Export[] {
  const exports = found.map(({ name, declaredName, declaration, isType }): Export => {
    return { ...declaration, name, declaredName, kind: isType ? "type" : declaration.kind };
  });
  return exports.toSorted((a, b) => compare(a.name, b.name));
}

/** By the letters alone, whatever the language of the machine. */
function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}
