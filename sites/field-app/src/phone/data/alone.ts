/** Who waits for whom, where the browser has no locks: only pages from https or from this machine have them. */
const waiting = new Map<string, Promise<unknown>>();

/** Does `work` while nobody else does work of this name, in this page or another one of the app. */
export function alone<Result>(name: string, work: () => Promise<Result>): Promise<Result> {
  if ("locks" in navigator) return navigator.locks.request(`collections.${name}`, work) as Promise<Result>;
  const done = (waiting.get(name) ?? Promise.resolve()).then(work, work);
  waiting.set(name, done);
  return done;
}
