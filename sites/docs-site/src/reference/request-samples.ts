import { type OpenApi, type Operation, resolve } from "./open-api.ts";

/** A request to the service as an example: what the samples and the “Try it” form begin with. */
export interface ExampleRequest {
  readonly method: string;
  /** The path with example values in place of its parameters, percent-encoded. */
  readonly path: string;
  /** The body as JSON; undefined if the request has none. */
  readonly body: string | undefined;
}

/** Returns an example of a request: the examples of its path parameters, and the first example of its body. */
export function exampleRequest(
  openApi: OpenApi,
  place: { method: string; path: string },
  operation: Operation,
): ExampleRequest {
  const path = place.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const parameter = operation.parameters?.find((each) => each.in === "path" && each.name === name);
    return encodeURIComponent(String(parameter?.example ?? name));
  });
  const [content] = Object.values(operation.requestBody?.content ?? {});
  const [example] = Object.values(content?.examples ?? {}).map((each) => resolve(openApi, each));
  const body = example === undefined ? undefined : JSON.stringify(example.value, null, 2);
  return { method: place.method.toUpperCase(), path, body };
}

/** A request in one language. `language` is the name of the language in Markdown. */
export interface Sample {
  readonly language: string;
  readonly text: string;
}

/** Returns a signed request in each language. The samples import `sign` from the samples of docs/lenders/signing.md. */
export function requestSamples(request: ExampleRequest): Sample[] {
  return [
    { language: "bash", text: curl(request) },
    { language: "js", text: node(request) },
    { language: "python", text: python(request) },
  ];
}

function curl({ method, path, body }: ExampleRequest): string {
  const hasBody = body !== undefined;
  return `source signing.sh
path=${path} timestamp=$(date +%s)000
${hasBody ? `printf %s ${inShell(body)} > body.json\n` : ""}curl -sS "$BASE_URL$path" ${hasBody ? "--data-binary @body.json" : `-X ${method}`} \\
${hasBody ? `  -H "Content-Type: application/json" \\\n` : ""}  -H "Authorization: Bearer $API_KEY_ID" \\
  -H "X-Service-Timestamp: $timestamp" \\
  -H "X-Service-Signature: $(sign ${method} "$path" "$timestamp" < ${hasBody ? "body.json" : "/dev/null"})"
`;
}

function inShell(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

function node({ method, path, body }: ExampleRequest): string {
  const hasBody = body !== undefined;
  return `import { sign } from "./signing.mjs";

const { BASE_URL, API_KEY_ID, HMAC_SECRET } = process.env;
const path = ${JSON.stringify(path)};
const timestamp = String(Date.now());
const body = ${hasBody ? `JSON.stringify(${body})` : '""'};
const answer = await fetch(BASE_URL + path, {
  method: "${method}",
  headers: {
${hasBody ? '    "Content-Type": "application/json",\n' : ""}    Authorization: \`Bearer \${API_KEY_ID}\`,
    "X-Service-Timestamp": timestamp,
    "X-Service-Signature": sign(HMAC_SECRET, "${method}", path, timestamp, body),
  },
${hasBody ? "  body,\n" : ""}});
console.log(answer.status, await answer.text());
`;
}

function python({ method, path, body }: ExampleRequest): string {
  const hasBody = body !== undefined;
  return `import os
import time
import urllib.error
import urllib.request

from signing import sign

path = ${JSON.stringify(path)}
timestamp = str(int(time.time() * 1000))
body = ${hasBody ? `"""${body.replaceAll("\\", "\\\\")}""".encode()` : 'b""'}
request = urllib.request.Request(
    os.environ["BASE_URL"] + path,
    method="${method}",
${hasBody ? "    data=body,\n" : ""}    headers={
${hasBody ? '        "Content-Type": "application/json",\n' : ""}        "Authorization": "Bearer " + os.environ["API_KEY_ID"],
        "X-Service-Timestamp": timestamp,
        "X-Service-Signature": sign(os.environ["HMAC_SECRET"], "${method}", path, timestamp, body),
    },
)
try:
    answer = urllib.request.urlopen(request)
except urllib.error.HTTPError as error:
    answer = error
print(answer.status, answer.read().decode())
`;
}
