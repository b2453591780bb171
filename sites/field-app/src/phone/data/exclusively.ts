/**
 * For each name, the task that was added last. The next task with the same name waits for it. This map replaces Web
 * Locks, which browsers provide only to pages from https or localhost.
 */
const waiting = new Map<string, Promise<unknown>>();

/**
 * Runs `work`, but never at the same time as other work with the same `name`, in this page or in another page of the
 * app.
 */
export function exclusively<Result>(name: string, work: () => Promise<Result>): Promise<Result> {
  if ("locks" in navigator) return navigator.locks.request(`collections.${name}`, work) as Promise<Result>;
  const done = (waiting.get(name) ?? Promise.resolve()).then(work, work);
  waiting.set(name, done);
  return done;
}
