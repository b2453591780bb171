import { type Header, headersIn, type PastedRequest } from "./pasted-request.ts";
import { shellWords } from "./shell-words.ts";

/** curl's options with a value that do not affect the signature. */
const OTHER_WITH_VALUE = new Set(
  (
    "-A -b -c -D -e -E -F -K -m -o -P -Q -r -t -T -u -U -w -x -y -Y -z --user-agent --cookie --cookie-jar --referer " +
    "--form --max-time --connect-timeout --output --user --write-out --proxy --retry --retry-delay --retry-max-time " +
    "--cacert --cert --key --resolve --interface --limit-rate --dump-header --config"
  ).split(" "),
);
const DATA = new Set(["-d", "--data", "--data-ascii", "--data-raw", "--data-binary", "--json"]);

interface CurlRead {
  method: string | undefined;
  url: string | undefined;
  headers: Header[];
  data: string[];
  notes: string[];
}

/** Reads a curl command. Returns undefined if the text is not a curl command. */
export function curlRequest(text: string): PastedRequest | undefined {
  // Removes the shell's prompts, which are not part of the command.
  const command = /(?:^|[\s;|&(])(curl\s[^]*)$/.exec(text.replaceAll(/^\s*[$>] /gm, ""))?.[1];
  if (command === undefined) return undefined;
  const { words, expansions } = shellWords(command);
  const read: CurlRead = { method: undefined, url: undefined, headers: [], data: [], notes: [] };
  const queue = words.slice(1).flatMap(separated);
  for (let word = queue.shift(); word !== undefined; word = queue.shift()) takeOption(word, queue, read);
  if (expansions.length > 0) {
    read.notes.push(`The shell replaces ${[...new Set(expansions)].join(", ")}: enter the values instead.`);
  }
  return requestFrom(read);
}

/** Splits joined options: `-XPOST` is `-X POST`, and `-sSX POST` is `-s -S -X POST`. */
function separated(word: string): string[] {
  const [, flags, option, value] = /^-([a-zA-Z]*?)([XHdAbcDeEFKmoPQrtTuUwxyYz])([^]*)$/.exec(word) ?? [];
  if (option === undefined || word.startsWith("--")) return [word];
  return [...(flags ? [`-${flags}`] : []), `-${option}`, ...(value ? [value] : [])];
}

function takeOption(word: string, queue: string[], read: CurlRead): void {
  if (word === "-X" || word === "--request") read.method = queue.shift();
  else if (word === "-I" || word === "--head") read.method ??= "HEAD";
  else if (word === "--url") read.url = queue.shift();
  else if (word === "-H" || word === "--header") read.headers.push(...headersIn([queue.shift() ?? ""]));
  else if (DATA.has(word)) takeData(word, queue.shift() ?? "", read);
  else if (word === "--data-urlencode") {
    queue.shift();
    read.notes.push("--data-urlencode cannot be read: enter the body that was sent.");
  } else if (OTHER_WITH_VALUE.has(word)) queue.shift();
  else if (!word.startsWith("-")) read.url ??= word;
}

function takeData(option: string, value: string, { data, headers, notes }: CurlRead): void {
  if (option === "--json") headers.push(["Content-Type", "application/json"]);
  if (value.startsWith("@") && option !== "--data-raw") {
    notes.push(`The body is in the file ${value.slice(1)}: choose it as the body.`);
  } else data.push(value);
}

function requestFrom({ method, url, headers, data, notes }: CurlRead): PastedRequest | undefined {
  if (url === undefined) return undefined;
  const [, host, rest = ""] = /^(?:[a-z]+:\/\/)?([^/?#]*)([^#]*)/i.exec(url) ?? [];
  const hasBody = data.length > 0 || notes.some((note) => note.startsWith("The body is in"));
  return {
    method: method ?? (hasBody ? "POST" : "GET"),
    path: rest.startsWith("/") ? rest : `/${rest}`,
    ...(host && !host.includes("$") && { host }),
    headers,
    ...(data.length > 0 && { body: data.join("&") }),
    notes,
  };
}
