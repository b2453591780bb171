import { parseSync, Visitor } from "oxc-parser";

/**
 * Matches the declaration of an entity. The compiler writes an entity's type as pages of nested builders. Only the
 * names and types of the columns in it are useful.
 */
const ENTITY = /^const (\w+): import\("@mikro-orm\/core"\)\.EntitySchemaWithMeta<"(\w+)", "(\w+)"/;
const BUILDER = "UniversalPropertyOptionsBuilder";

/** Returns whether a declaration is that of an entity, which stands for a table. */
export function isEntity(declaration: string): boolean {
  return ENTITY.test(declaration);
}

/**
 * Returns an entity's declaration as `const X: Entity<"table", { column: type; … }>`. Returns other declarations
 * unchanged.
 */
export function withoutBuilders(declaration: string): string {
  const [, name, , table] = ENTITY.exec(declaration) ?? [];
  if (name === undefined) return declaration;
  return `const ${name}: Entity<"${table}", { ${columns(declaration).join(" ")} }>;`;
}

function columns(declaration: string): string[] {
  const text = `declare ${declaration}`;
  const { program } = parseSync("entity.d.ts", text);
  let found: string[] | undefined;
  new Visitor({
    TSTypeLiteral({ members }) {
      found ??= members.map((member) => {
        if (member.type !== "TSPropertySignature" || member.key.type !== "Identifier" || !member.typeAnnotation) {
          return text.slice(member.start, member.end);
        }
        return `${member.key.name}: ${columnType(text.slice(member.typeAnnotation.start, member.typeAnnotation.end))};`;
      });
    },
  }).visit(program);
  return found ?? [];
}

/** Returns the type of a column: the first type argument of its builder, even if other types wrap the builder. */
function columnType(annotation: string): string {
  const text = `type X${annotation.replace(":", " =")}`;
  const { program } = parseSync("column.d.ts", text);
  let found: string | undefined;
  new Visitor({
    TSImportType({ qualifier, typeArguments }) {
      if (qualifier?.type !== "Identifier" || qualifier.name !== BUILDER) return;
      const [type] = typeArguments?.params ?? [];
      if (type) found ??= text.slice(type.start, type.end);
    },
  }).visit(program);
  if (found === undefined) return annotation.slice(1).trim();
  return /\bnullable: true\b/.test(annotation) ? `${found} | null` : found;
}
