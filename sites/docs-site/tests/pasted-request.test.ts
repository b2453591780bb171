import { describe, expect, test } from "vitest";
import { readPasted, UnreadablePasteError } from "../src/pages/paste.ts";
import { shellWords } from "../src/pages/shell-words.ts";

const CONFIRM = "/api/v1/partner/cases/MUM%2F2023%2F00123/payments/confirm";
const BODY = `{"amount":2500,"note":"Ravi's"}`;

describe("shellWords", () => {
  test.each([
    ["plain words", "a  b\tc", ["a", "b", "c"]],
    ["single quotes", `'a "b" \\n' c`, [`a "b" \\n`, "c"]],
    ["double quotes", `"a 'b' \\"c\\" \\\\ \\n"`, [`a 'b' "c" \\ \\n`]],
    ["ANSI quotes", `$'it\\'s \\u0905\\n\\x41'`, ["it's अ\nA"]],
    ["quotes side by side", `a'b'"c"d`, ["abcd"]],
    ["an escaped space", "a\\ b", ["a b"]],
    ["an empty word", `a '' b`, ["a", "", "b"]],
    ["continued lines", "a \\\n  b \\\r\n c", ["a", "b", "c"]],
    ["only the first command", "a b | c", ["a", "b"]],
    ["only the first line", "a b\nc", ["a", "b"]],
    ["a missing closing quote", "a 'b c", ["a", "b c"]],
    ["an empty text", "", []],
  ])("splits %s", (_, text, words) => {
    expect(shellWords(text).words).toEqual(words);
  });

  test("keeps and lists the shell's expansions", () => {
    const text = `-H "X: $KEY" '$NOT' $(date +%s)000 "\${A}b" "\\$no" "$(cat "a b")"`;
    expect(shellWords(text)).toEqual({
      words: ["-H", "X: $KEY", "$NOT", "$(date +%s)000", "${A}b", "$no", '$(cat "a b")'],
      expansions: ["$KEY", "$(date +%s)", "${A}", '$(cat "a b")'],
    });
  });
});

describe("readPasted with a curl command", () => {
  test("returns method, path, host, headers and body", () => {
    const text = `curl -sS -X POST 'https://api.example:8443${CONFIRM}?dryRun=true#top' \\
      -H 'X-Service-Timestamp: 1795167667000' -H "Content-Type: application/json" \\
      --max-time 10 --data-binary $'{"amount":2500,"note":"Ravi\\'s"}' -o answer.json | jq .`;
    expect(readPasted(text)).toEqual({
      method: "POST",
      path: `${CONFIRM}?dryRun=true`,
      host: "api.example:8443",
      headers: [
        ["X-Service-Timestamp", "1795167667000"],
        ["Content-Type", "application/json"],
      ],
      body: BODY,
      notes: [],
    });
  });

  test.each([
    ["GET without a body", "curl https://a.example/b", "GET"],
    ["POST with a body", "curl -d x https://a.example/b", "POST"],
    ["PUT from -XPUT", "curl -XPUT https://a.example/b -d x", "PUT"],
    ["DELETE from -sSX DELETE", "curl -sSX DELETE https://a.example/b", "DELETE"],
    ["HEAD from -I", "curl -I https://a.example/b", "HEAD"],
    ["POST from --json", "curl --json '{}' https://a.example/b", "POST"],
    ["POST with a body from a file", "curl -d @body.json https://a.example/b", "POST"],
  ])("recognizes the method: %s", (_, text, method) => {
    expect(readPasted(text)).toMatchObject({ method, path: "/b" });
  });

  test("joins several data options, and ignores other options", () => {
    const text = "curl -u me:secret -A agent -d a=1 --data-raw @b https://a.example";
    expect(readPasted(text)).toMatchObject({ path: "/", body: "a=1&@b", notes: [] });
  });

  test("accepts the prompts and variables of a text copied from a terminal", () => {
    const text = `$ curl -X GET "$BASE_URL/api/v1/partner/health" \\\n> -H "Authorization: Bearer $API_KEY_ID"\n{"ok":true}`;
    expect(readPasted(text)).toEqual({
      method: "GET",
      path: "/api/v1/partner/health",
      headers: [["Authorization", "Bearer $API_KEY_ID"]],
      notes: ["The shell replaces $BASE_URL, $API_KEY_ID: enter the values instead."],
    });
  });

  test.each([
    ["in a file", "curl -d @/tmp/body.json https://a.example/b", "The body is in the file /tmp/body.json"],
    ["data that curl would encode", "curl --data-urlencode a=ä https://a.example/b", "--data-urlencode cannot be read"],
  ])("returns a note instead of the body if the body is %s", (_, text, note) => {
    const { body, notes } = readPasted(text);
    expect(body).toBeUndefined();
    expect(notes.join()).toContain(note);
  });
});

describe("readPasted with an HTTP request", () => {
  const head = `POST ${CONFIRM}?a=b HTTP/1.1\r\nHost: api.example\r\nx-service-signature: ab12\r\n`;
  const read = {
    method: "POST",
    path: `${CONFIRM}?a=b`,
    host: "api.example",
    headers: expect.arrayContaining([["x-service-signature", "ab12"]]) as unknown,
    notes: [],
  };

  test("accepts any line ends", () => {
    expect(readPasted(`${head}\r\n${BODY}`)).toEqual({ ...read, body: BODY });
    expect(readPasted(`${head}\r\n${BODY}`.replaceAll("\r\n", "\n"))).toEqual({ ...read, body: BODY });
    expect(readPasted(`\n${head}`)).toEqual(read);
  });

  test.each([
    ["pasting added a line end", `${BODY}\n`, BODY.length, BODY],
    ["pasting removed the last line end", BODY, BODY.length + 1, `${BODY}\n`],
    ["pasting changed CRLF to LF", "{\n}\n", 6, "{\r\n}\r\n"],
  ])("restores the body by Content-Length if %s", (_, pasted, length, body) => {
    expect(readPasted(`${head}Content-Length: ${length}\r\n\r\n${pasted}`)).toMatchObject({ body, notes: [] });
  });

  test("returns a note if the body is shorter than Content-Length", () => {
    expect(readPasted(`${head}Content-Length: 999\r\n\r\n${BODY}`)).toMatchObject({
      body: BODY,
      notes: [`Content-Length is 999, but the pasted body has ${BODY.length} bytes.`],
    });
  });

  test("accepts the output of curl -v", () => {
    const text = `* Connected to api.example\n> GET /b HTTP/2\n> Host: api.example\n> X-Service-Timestamp: 1\n>\n< HTTP/2 401\n< date: x\n`;
    expect(readPasted(text)).toMatchObject({
      method: "GET",
      path: "/b",
      headers: [
        ["Host", "api.example"],
        ["X-Service-Timestamp", "1"],
      ],
    });
  });

  test("accepts a full URL in the first line, and a body that mentions curl", () => {
    expect(readPasted("POST http://api.example/b\n\nsee curl https://other.example")).toMatchObject({
      path: "/b",
      host: "api.example",
      body: "see curl https://other.example",
    });
  });
});

test.each(["hello", "curl", "curl -s", "{}", "GET", "select * from t", ""])(
  "readPasted throws UnreadablePasteError for %j, which is neither a curl command nor a request",
  (text) => {
    expect(() => readPasted(text)).toThrow(UnreadablePasteError);
  },
);
