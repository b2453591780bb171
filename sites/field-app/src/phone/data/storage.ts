const PREFIX = "collections.";

/** What this phone has kept under a name; undefined when there is nothing, or nothing that can be read. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the caller wrote this value and knows its type
export function read<Value>(name: string): Value | undefined {
  const text = localStorage.getItem(PREFIX + name);
  if (text === null) return undefined;
  try {
    return JSON.parse(text) as Value;
  } catch {
    return undefined;
  }
}

/** Keeps a value until it is overwritten or forgotten. Throws a DOMException when there is no room left. */
export function write(name: string, value: unknown): void {
  localStorage.setItem(PREFIX + name, JSON.stringify(value));
}

export function forget(name: string): void {
  localStorage.removeItem(PREFIX + name);
}

/** The names that begin so. */
export function names(beginning: string): string[] {
  return Object.keys(localStorage)
    .filter((name) => name.startsWith(PREFIX + beginning))
    .map((name) => name.slice(PREFIX.length));
}
