// Makes the app open without a network, and at once over a slow one: the stored files are used first, and a newer
// version is loaded in the background for the next start. It handles only the app's own files, never the API.
const worker = self as unknown as ServiceWorkerGlobalScope;

const CACHE = "collections-app";
const SHELL = new URL("shell.json", worker.location.href);
const APP = SHELL.pathname.replace(/\/shell\.json$/, "");

worker.addEventListener("install", (event) => event.waitUntil(update().then(() => worker.skipWaiting())));
worker.addEventListener("activate", (event) => event.waitUntil(worker.clients.claim()));
worker.addEventListener("fetch", (event) => {
  const { request } = event;
  const { origin, pathname } = new URL(request.url);
  const isOurs = origin === worker.location.origin && (pathname === APP || pathname.startsWith(`${APP}/`));
  if (!isOurs || request.method !== "GET") return;
  event.respondWith(keptOrFromNetwork(request));
  // Without a network the update fails. The next start tries again.
  if (pathname === APP) event.waitUntil(update().catch(() => undefined));
});

async function keptOrFromNetwork(request: Request): Promise<Response> {
  const cache = await caches.open(CACHE);
  return (await cache.match(request, { ignoreSearch: true })) ?? fetch(request);
}

/**
 * Stores the newest version of the app. The page is stored last: if the update ends early, the stored page still names
 * files that are stored. Then removes the files of earlier versions.
 */
async function update(): Promise<void> {
  const shell = (await (await fetch(SHELL, { cache: "no-cache" })).json()) as string[];
  const cache = await caches.open(CACHE);
  const [page = APP, ...files] = shell;
  const kept = new Set((await cache.keys()).map(({ url }) => new URL(url).pathname));
  await cache.addAll(files.filter((path) => !kept.has(path)));
  await cache.add(new Request(page, { cache: "no-cache" }));
  const needed = new Set(shell);
  await Promise.all([...kept].filter((path) => !needed.has(path)).map((path) => cache.delete(path)));
}
