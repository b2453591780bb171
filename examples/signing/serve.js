import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { extname, join } from "node:path";

const TYPES = { ".html": "text/html", ".js": "text/javascript" };

/** Any server for files will do. This one serves the page, and the package as npm has installed it. */
const server = createServer(async (request, response) => {
  const { pathname } = new URL(request.url, "http://127.0.0.1");
  const file = pathname === "/" ? "index.html" : pathname;
  const bytes = await readFile(join(import.meta.dirname, file)).catch(() => undefined);
  response.writeHead(bytes ? 200 : 404, { "content-type": TYPES[extname(file)] ?? "application/octet-stream" });
  response.end(bytes);
});
server.listen(Number(process.env.PORT ?? 8080), "127.0.0.1", () => {
  console.log(`Open http://127.0.0.1:${server.address().port}/`);
});
