import { readFileSync } from "node:fs";
import { type Directive, type Node, parseSync, type Span, type Statement, Visitor } from "oxc-parser";
import { type Docstring, readDocstring } from "./docstring.ts";

export type Kind = "function" | "class" | "constant" | "type";

/** A declaration in a `.d.ts` file. */
export interface Declaration {
  readonly kind: Kind;
  /** Its source without comments, `export` and `declare`. Overloads follow each other. */
  readonly text: string;
  readonly doc: Docstring | undefined;
  /** The names that the declaration refers to, in its own module or in other modules by `import("…").name`. */
  readonly references: readonly Place[];
}

/** A reference to a name: in the module `from`, or in the same module if `from` is missing. */
export interface Place {
  readonly name: string;
  readonly from?: string;
  /** True if the name is exported as a type, whatever its declaration is. */
  readonly isType?: boolean;
}

/** The declarations, imports and exports of a `.d.ts` file. */
export interface DeclaredModule {
  readonly declarations: ReadonlyMap<string, Declaration>;
  /** The origin of each import, by the name that it has in this file. */
  readonly imports: ReadonlyMap<string, Place>;
  /** The origin of each export, by the exported name. */
  readonly exports: ReadonlyMap<string, Place>;
}

/**
 * Thrown if a file contains a construct that this reader does not support. Without the error, an export could be
 * missing from the report unnoticed.
 */
export class UnreadableDeclarationError extends Error {
  readonly code = "UNREADABLE_DECLARATION";

  constructor(file: string, what: string) {
    super(
      `${file}: ${what}. Write it in another form, or add support for it to tooling/surface/src/declared-module.ts.`,
    );
    this.name = "UnreadableDeclarationError";
  }
}

/** Reads a file that the compiler has written. */
export function readModule(file: string): DeclaredModule {
  const source = readFileSync(file, "utf8");
  const { program, comments, errors } = parseSync(file, source);
  if (errors[0]) throw new UnreadableDeclarationError(file, errors[0].message);
  const declarations = new Map<string, Declaration>();
  const imports = new Map<string, Place>();
  const exports = new Map<string, Place>();
  for (const statement of program.body) {
    if (statement.type === "ImportDeclaration") readImport(statement, imports);
    else if (statement.type === "ExportNamedDeclaration" && !statement.declaration) readExport(statement, exports);
    else {
      const declared = declarationOf(statement);
      if (!declared) throw new UnreadableDeclarationError(file, `a ${statement.type} is not supported`);
      const { node, kind, name } = declared;
      const comment = comments.findLast(({ end }) => end <= statement.start);
      const isDoc = comment?.value.startsWith("*") && source.slice(comment.end, statement.start).trim() === "";
      const text = withoutComments(source, node, comments).replace(/^declare /, "");
      const before = declarations.get(name);
      declarations.set(name, {
        kind: before && kind === "type" ? before.kind : kind,
        text: before ? `${before.text}\n${text}` : text,
        doc: before?.doc ?? (isDoc ? readDocstring(comment!.value.slice(1)) : undefined),
        references: [...(before?.references ?? []), ...namesIn(node)],
      });
      if (statement.type === "ExportNamedDeclaration") exports.set(name, { name });
    }
  }
  return { declarations, imports, exports };
}

/** Returns the source of a node without the docstrings of the node's members. */
function withoutComments(source: string, { start, end }: Span, comments: readonly Span[]): string {
  const inside = comments.filter((comment) => comment.start >= start && comment.end <= end);
  const starts = [start, ...inside.map((comment) => comment.end)];
  const ends = [...inside.map((comment) => comment.start), end];
  return starts.map((from, index) => source.slice(from, ends[index])).join("");
}

type Of<Type extends Statement["type"]> = Extract<Statement, { type: Type }>;

function readImport({ specifiers, source }: Of<"ImportDeclaration">, imports: Map<string, Place>): void {
  for (const one of specifiers) {
    const name = one.type === "ImportSpecifier" ? nameOf(one.imported) : "*";
    imports.set(one.local.name, { name, from: source.value });
  }
}

function readExport(statement: Of<"ExportNamedDeclaration">, exports: Map<string, Place>): void {
  const { specifiers, source, exportKind } = statement;
  for (const { local, exported, exportKind: ownKind } of specifiers) {
    const isType = exportKind === "type" || ownKind === "type";
    exports.set(nameOf(exported), { name: nameOf(local), isType, ...(source && { from: source.value }) });
  }
}

function nameOf(node: { type: string; name?: string; value?: unknown }): string {
  return node.name ?? String(node.value);
}

interface Declared {
  readonly node: Statement | Directive;
  readonly kind: Kind;
  readonly name: string;
}

function declarationOf(statement: Statement | Directive): Declared | undefined {
  const node = statement.type === "ExportNamedDeclaration" ? statement.declaration! : (statement as Statement);
  switch (node.type) {
    case "TSDeclareFunction":
    case "FunctionDeclaration":
      return { node: node as Statement, kind: "function", name: node.id!.name };
    case "ClassDeclaration":
      return { node, kind: "class", name: node.id!.name };
    case "TSInterfaceDeclaration":
    case "TSTypeAliasDeclaration":
      return { node, kind: "type", name: node.id.name };
    case "VariableDeclaration": {
      const [first, ...others] = node.declarations;
      if (others.length > 0 || first?.id.type !== "Identifier") return undefined;
      return { node, kind: "constant", name: first.id.name };
    }
    default:
      return undefined;
  }
}

/** The names that a declaration's types refer to. */
function namesIn(node: Declared["node"]): Place[] {
  const places: Place[] = [];
  const say = (node: Node) => {
    if (node.type === "Identifier") places.push({ name: node.name });
    else if (node.type === "TSQualifiedName") say(node.left);
  };
  const visitor = new Visitor({
    TSTypeReference: ({ typeName }) => say(typeName),
    TSTypeQuery: ({ exprName }) => say(exprName),
    TSInterfaceHeritage: ({ expression }) => say(expression),
    TSClassImplements: ({ expression }) => say(expression),
    ClassDeclaration: ({ superClass }) => superClass && say(superClass),
    TSPropertySignature: ({ computed, key }) => computed && say(key),
    TSImportType: ({ source, qualifier }) => {
      if (qualifier?.type === "Identifier") places.push({ name: qualifier.name, from: source.value });
    },
  });
  visitor.visit({ type: "Program", body: [node], sourceType: "module", hashbang: null, start: 0, end: 0 });
  return places;
}
