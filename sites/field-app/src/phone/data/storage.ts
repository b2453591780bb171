const PREFIX = "collections.";

/** Reads a stored value; undefined if there is none or it is unreadable. */
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

/** Stores a value until it is overwritten or deleted. Throws a DOMException if the storage is full. */
export function write(name: string, value: unknown): void {
  localStorage.setItem(PREFIX + name, JSON.stringify(value));
}

export function forget(name: string): void {
  localStorage.removeItem(PREFIX + name);
}

/** Returns the stored names that begin with this text. */
export function names(beginning: string): string[] {
  return Object.keys(localStorage)
    .filter((name) => name.startsWith(PREFIX + beginning))
    .map((name) => name.slice(PREFIX.length));
}
