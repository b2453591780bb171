import { describe, expect, test } from "vitest";
import { renderMarkdown } from "../src/markdown.ts";

const nowhere = () => undefined;
const html = (text: string, targetOf: (href: string) => string | undefined = nowhere) =>
  renderMarkdown(text, targetOf).html;

describe("a document", () => {
  test("has the same anchors as on GitHub, each of them unique", () => {
    const { headings, html } = renderMarkdown("# A\n\n## 5. Receive `events`, *now*!\n\n### Go\n\n## Go\n", nowhere);
    expect(headings).toEqual([
      { level: 1, text: "A", anchor: "a" },
      { level: 2, text: "5. Receive events, now!", anchor: "5-receive-events-now" },
      { level: 3, text: "Go", anchor: "go" },
      { level: 2, text: "Go", anchor: "go-1" },
    ]);
    for (const { level, anchor } of headings) expect(html).toContain(`<h${level} id="${anchor}">`);
    expect(html).toContain("Receive <code>events</code>, <em>now</em>!");
  });

  test("has headings as plain text", () => {
    const { headings, html } = renderMarkdown('## C# & "Go" \\<x>\n', nowhere);
    expect(headings).toEqual([{ level: 2, text: 'C# & "Go" <x>', anchor: "c--go-x" }]);
    expect(html).toContain("C# &amp; &quot;Go&quot; &lt;x&gt;");
  });

  test("keeps a link if the site has the target, and otherwise keeps only the link's text", () => {
    const targetOf = (href: string) => (href === "a.md" ? "/docs/a" : undefined);
    expect(html("[to *a*](a.md) [to b](b.md)", targetOf)).toBe('<p><a href="/docs/a">to <em>a</em></a> to b</p>\n');
  });

  test("escapes code, and highlights known languages", () => {
    expect(html('```text run\n<a> & "b"\n```')).toContain("<code>&lt;a&gt; &amp; &quot;b&quot;</code>");
    expect(html("```js\n1\n```")).toContain('<pre tabindex="0" role="group" aria-label="Code: JavaScript"><code>');
    expect(html("```klingon\n<a>\n```")).toContain("<code>&lt;a&gt;</code>");
    expect(html('```json\n{ "<a>": 1 }\n```')).toContain('<span class="hljs-attr">&quot;&lt;a&gt;&quot;</span>');
    expect(html("```bash run\nexport A=1 # b\n```")).toContain('<span class="hljs-comment"># b</span>');
  });

  test("uses an error code as the id of the first table row that has a cell with only this code", () => {
    const table =
      "| HTTP | Code |\n| --: | --- |\n| 404 | `LOAN_NOT_FOUND` |\n| 404 | `LOAN_NOT_FOUND` |\n| 401 | see `BAD` |\n";
    const rendered = html(table);
    expect(rendered).toContain('<div class="table" tabindex="0" role="group" aria-label="Table: Table"><table>');
    expect(rendered.match(/<tr[^>]*>/g)).toEqual(["<tr>", '<tr id="LOAN_NOT_FOUND">', "<tr>", "<tr>"]);
    expect(rendered).toContain('<td class="right">404</td><td><code>LOAN_NOT_FOUND</code></td>');
  });

  test("has column names in the cells of wide tables, for narrow screens", () => {
    const table = "| A | `B` & C | D |\n| --- | --- | --- |\n| 1 | 2 | 3 |\n";
    expect(html(table)).toContain('<td role="cell" data-label="B &amp; C">2</td>');
    expect(html("| A | B |\n| --- | --- |\n| 1 | 2 |\n")).toContain("<tr><td>1</td><td>2</td></tr>");
  });

  test("keeps HTML that it contains", () => {
    expect(html("<details>\n<summary>More</summary>\n\n*a*\n\n</details>\n")).toMatch(
      /<details>[^]*<em>a<\/em>[^]*<\/details>/,
    );
  });
});
