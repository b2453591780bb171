import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { extname, join } from "node:path";

const TYPES = { ".html": "text/html", ".js": "text/javascript" };

/** Any file server works. This one serves the page, and the package as npm has installed it. */
const server = createServer((request, response) => {
  const pathname = URL.parse(request.url, "http://127.0.0.1")?.pathname ?? "";
  const file = pathname === "/" ? "index.html" : pathname;
  const headers = { "content-type": TYPES[extname(file)] ?? "application/octet-stream" };
  readFile(join(import.meta.dirname, file)).then(
    (bytes) => response.writeHead(200, headers).end(bytes),
    () => response.writeHead(404).end(),
  );
});
server.listen(Number(process.env.PORT ?? 8080), "127.0.0.1", () => {
  console.log(`Open http://127.0.0.1:${server.address().port}/`);
});
