import { type MistakeIn, ways } from "./diagnose-recipe.ts";

const CODING = { part: "path", step: 0 } as const;
const START = { part: "path", step: 1 } as const;
const FIRST_SLASH = { part: "path", step: 2 } as const;
const LAST_SLASH = { part: "path", step: 3 } as const;

/**
 * Proxies and frameworks usually remove at most this many leading segments: the three segments of `/api/v1/partner`,
 * and one more.
 */
const MAX_SEGMENTS_DROPPED = 4;

/** Lists mistakes in the path and its query string. `host` is the Host header, if it is known. */
export function pathMistakes(query: string, host: string | undefined): (MistakeIn<"path"> | MistakeIn<"query">)[] {
  return [
    ...ways({ part: "query" }, "QUERY_STRING_SIGNED", [() => query]),
    ...ways(CODING, "PATH_DECODED", [orUndefined(decodeURIComponent), orUndefined(decodeURI)]),
    ...ways(CODING, "PATH_ENCODED_DIFFERENTLY", [
      (path) => path.replaceAll(/%[0-9a-f]{2}/gi, (code) => code.toLowerCase()),
      (path) => path.replaceAll(/%[0-9a-f]{2}/gi, (code) => code.toUpperCase()),
      (path) => path.replaceAll("%", "%25"),
      (path) => path.replaceAll("%20", "+"),
    ]),
    ...ways(
      START,
      "PATH_WITHOUT_PREFIX",
      Array.from({ length: MAX_SEGMENTS_DROPPED }, (_, index) => (path) => withoutSegments(path, index + 1)),
    ),
    ...ways(
      START,
      "PATH_WITH_HOST",
      hostsOf(host).flatMap((name) => ["https://", "http://", ""].map((scheme) => (path) => scheme + name + path)),
    ),
    ...ways(FIRST_SLASH, "PATH_WITHOUT_LEADING_SLASH", [
      (path) => (path.length > 1 && path.startsWith("/") ? path.slice(1) : undefined),
    ]),
    ...ways(LAST_SLASH, "PATH_WITH_TRAILING_SLASH", [(path) => (path.endsWith("/") ? undefined : `${path}/`)]),
    ...ways(LAST_SLASH, "PATH_WITHOUT_TRAILING_SLASH", [(path) => path.replace(/\/+$/, "")]),
  ];
}

function orUndefined(decode: (path: string) => string): (path: string) => string | undefined {
  return (path) => {
    try {
      return decode(path);
    } catch {
      return undefined;
    }
  };
}

function withoutSegments(path: string, count: number): string | undefined {
  const rest = path.split("/").slice(count + 1);
  return rest.length === 0 ? undefined : `/${rest.join("/")}`;
}

/** Returns the host with and without its port. */
function hostsOf(host: string | undefined): string[] {
  if (host === undefined || host === "") return [];
  return [...new Set([host, host.replace(/:\d+$/, "")])];
}
