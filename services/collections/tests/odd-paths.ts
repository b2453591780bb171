import { pick, type Random } from "./odd-json.ts";

const SEGMENTS = [
  "%",
  "%zz",
  "%0",
  "%00",
  "LN-1%00",
  "..",
  ".",
  "%2e%2e%2f%2e%2e",
  "%C0%AF",
  "%ED%A0%80",
  "%F0%9F%98%80",
  "%FF",
  "%2F",
  "LN%2F1",
  "LN-1;a=b",
  "LN-1%20",
  "%09",
  ":loan",
  "*",
  "\\",
  "x".repeat(65),
  "x".repeat(4_000),
  "%F0%9F%98%80".repeat(200),
  "__proto__",
  "evt_1",
  `evt_${"0".repeat(32)}`,
  `replay_${"f".repeat(32)}`,
  "evt_019AA3C01D5E7F44B1C2D3E4F5061728",
  "'%20or%201=1",
  "",
];

const QUERIES = [
  "?",
  "??",
  "?%",
  "?a=%zz",
  "?dryRun",
  "?dryRun=true&dryRun=false",
  "?dryRun=TRUE",
  "?atomic[]=1",
  "?atomic=1",
  "?__proto__=1",
  "?state=parked&state=waiting",
  "?state=%00",
  "?limit=99999999999999999999",
  "?limit=-1",
  "?limit=1e2",
  "?limit=200",
  "?since=2026-11-20T09:40:55Z",
  "?since=+275760-09-13T00:00:00Z",
  "?since=-infinity",
  "?cursor=cur_",
  `?cursor=cur_${"0".repeat(32)}`,
  `?cursor=cur_${"f".repeat(32)}`,
  "?loan=%F0%9F%98%80",
  "?loan=%00",
  `?loan=${"x".repeat(5_000)}`,
  `?${"a=1&".repeat(1_500)}`,
  "#fragment",
];

/** A path in another form, or with a part that none has. */
export function oddPath(random: Random, path: string): string {
  const kind = random();
  if (kind < 0.1) return `http://other.example${path}`;
  if (kind < 0.2) return `${path}/`;
  if (kind < 0.3) return pick(random, ["*", "/", "//", "/api", "/api/v2/partner/health", `/%61pi${path.slice(4)}`]);
  if (kind < 0.4) return path.replace(/^/, pick(random, ["/.", "/..", "//", "/%2e%2e", "\\"]));
  if (kind < 0.45) return `${path} ${path}`;
  if (kind < 0.5) return `${path}\u00e9`;
  const segments = path.split("/");
  const at = kind < 0.9 ? segments.length - 1 : 1 + Math.floor(random() * (segments.length - 1));
  return segments.with(at, pick(random, SEGMENTS)).join("/");
}

export function oddQuery(random: Random): string {
  return pick(random, QUERIES);
}
