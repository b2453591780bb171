// Makes the app open without a network: requests go to the network first, and the last copy is used if there is no
// answer. It handles only the app's own files, never the API.
const worker = self as unknown as ServiceWorkerGlobalScope;

const CACHE = "collections-app";
const WAIT_MS = 3_000;
const SHELL = new URL("../../shell.json", worker.location.href);
const APP = SHELL.pathname.replace(/\/shell\.json$/, "");

worker.addEventListener("install", (event) => event.waitUntil(keepShell()));
worker.addEventListener("activate", (event) => event.waitUntil(worker.clients.claim()));
worker.addEventListener("fetch", (event) => {
  const { request } = event;
  const { origin, pathname } = new URL(request.url);
  const isOurs = origin === worker.location.origin && (pathname === APP || pathname.startsWith(`${APP}/`));
  if (isOurs && request.method === "GET") event.respondWith(fromNetworkOrKept(request));
});

async function keepShell(): Promise<void> {
  const shell = (await (await fetch(SHELL)).json()) as string[];
  const cache = await caches.open(CACHE);
  await cache.addAll(shell);
  await worker.skipWaiting();
}

async function fromNetworkOrKept(request: Request): Promise<Response> {
  const cache = await caches.open(CACHE);
  const kept = await cache.match(request);
  try {
    const answer = await fetch(request, kept ? { signal: AbortSignal.timeout(WAIT_MS) } : {});
    if (answer.ok) await cache.put(request, answer.clone());
    return answer;
  } catch (error) {
    if (kept) return kept;
    throw error;
  }
}
