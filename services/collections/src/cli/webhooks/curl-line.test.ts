import { execFile } from "node:child_process";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { promisify } from "node:util";
import { afterFile } from "@collections/testing";
import { expect, test } from "vitest";
import { shellQuoted } from "../../desk/shell-quoted.ts";
import { curlLine } from "./curl-line.ts";

const run = promisify(execFile);

test.each([
  ["a", "'a'"],
  ["it's", String.raw`'it'\''s'`],
  ['$HOME `id` !! \\ "', "'$HOME `id` !! \\ \"'"],
  ["", "''"],
  ["a\u001b[2Jb", String.raw`'a'"$(printf '\033')"'[2Jb'`],
])("quotes %j for a shell", (plain, quotation) => {
  expect(shellQuoted(plain)).toBe(quotation);
});

test.each([
  [
    "JSON",
    String.raw`{"name":"O'Brien","note":"नमस्ते ₹2,500 \"x\" \n \\ $HOME $(id) \u0060id\u0060 !! %20","list":[1,{}]}`,
  ],
  ["characters that control a terminal", '{"reason":"\u001b]0;x\u0007 \u202e%s\u009b1m \u200f"}'],
  ["text of several lines that begins like a file name", "@/etc/passwd\r\n'second'\n\tthird & `id`\n"],
])("the curl line sends %s byte for byte, with the given headers and no others", async (_what, body) => {
  const received: { url: string; headers: string[]; body: string }[] = [];
  const server = createServer((request, response) => {
    const names = request.rawHeaders.filter((_, index) => index % 2 === 0);
    void text(request).then((body) => {
      received.push({ url: request.url!, headers: names, body });
      response.end("taken");
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  afterFile(() => server.close());
  const { port } = server.address() as AddressInfo;

  const url = `http://127.0.0.1:${port}/hooks/a%2Fb/[x]?to={y}&and='z'`;
  const headers = { "Content-Type": "application/json", "User-Agent": "Ours/1.0", "X-Service-Event": "case.created" };
  const { stdout } = await run("sh", ["-c", curlLine({ url, headers, body })]);
  expect(stdout).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*taken$/);
  expect(received).toEqual([
    {
      url: `/hooks/a%2Fb/[x]?to={y}&and=%27z%27`,
      headers: ["Host", ...Object.keys(headers), "Content-Length"],
      body,
    },
  ]);
});
