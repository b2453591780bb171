import type { Plugin } from "rolldown";

const HTTP = "node:http";
const VIRTUAL_HTTP = `\0${HTTP}`;
const ADAPTER = /\/@whatwg-node\/server\/esm\/createServerAdapter\.js$/;
const COMPARISON = "fetchAPI.Request !== globalThis.Request";

/**
 * Makes a plugin that prevents a process from loading Node's own copy of undici, which takes 35 ms and 13 MB. Two
 * expressions would load undici without using it:
 *
 * - An import of `node:http` reads all properties of the module, and some properties load undici when they are read. The
 *   bundle imports only the properties that do not. The build fails if a module imports any other property.
 * - The server of GraphQL Yoga compares its class of requests with Node's class. On Node the two always differ, so the
 *   bundle contains the result instead of the comparison. The build fails if Yoga's file does not contain the comparison.
 */
export function withoutSecondUndici(): Plugin {
  let isReplaced = false;
  return {
    name: "without-second-undici",
    resolveId(id, _importer, { kind }) {
      return id === HTTP && kind === "import-statement" ? VIRTUAL_HTTP : null;
    },
    load(id) {
      if (id !== VIRTUAL_HTTP) return null;
      const properties = Object.entries(Object.getOwnPropertyDescriptors(process.getBuiltinModule(HTTP)));
      const names = properties.filter(([, { get }]) => get === undefined).map(([name]) => name);
      return [
        `const http = process.getBuiltinModule("${HTTP}");`,
        `export const { ${names.join(", ")} } = http;`,
        "export default http;",
      ].join("\n");
    },
    transform(code, id) {
      if (!ADAPTER.test(id) || !code.includes(COMPARISON)) return null;
      isReplaced = true;
      return { code: code.replace(COMPARISON, "true"), map: null };
    },
    buildEnd(error) {
      if (!error && !isReplaced) throw new Error(`No file ${ADAPTER.source} contains "${COMPARISON}".`);
    },
  };
}
