/** A request that was read from a pasted text. Properties that the text does not contain are missing. */
export interface PastedRequest {
  readonly method: string;
  /** The path on the request line, with its query. */
  readonly path: string;
  readonly host?: string;
  readonly headers: readonly Header[];
  readonly body?: string;
  /** The parts of the text that could not be read, one sentence each. */
  readonly notes: readonly string[];
}

export type Header = readonly [name: string, value: string];

/** Returns the value of a header. The name may be in upper or lower case. */
export function headerOf(headers: readonly Header[], name: string): string | undefined {
  return headers.find(([given]) => given.toLowerCase() === name.toLowerCase())?.[1];
}

/** Returns the headers in a text, one per line. Ignores other lines. */
export function headersIn(lines: readonly string[]): Header[] {
  return lines.flatMap((line): Header[] => {
    const [, name, value] = /^\s*([^\s:]+)\s*:([^]*)$/.exec(line) ?? [];
    return name === undefined || value === undefined ? [] : [[name, value.trim()]];
  });
}
