/** A request that was read from a text that somebody pasted; what the text does not say is left out. */
export interface PastedRequest {
  readonly method: string;
  /** As on the request line, with its query. */
  readonly path: string;
  readonly host?: string;
  readonly headers: readonly Header[];
  readonly body?: string;
  /** What could not be taken over, each in a sentence. */
  readonly notes: readonly string[];
}

export type Header = readonly [name: string, value: string];

/** The value of a header, by its name in any case. */
export function headerOf(headers: readonly Header[], name: string): string | undefined {
  return headers.find(([given]) => given.toLowerCase() === name.toLowerCase())?.[1];
}

/** The headers that stand in a text, one in a line; other lines are left out. */
export function headersIn(lines: readonly string[]): Header[] {
  return lines.flatMap((line): Header[] => {
    const [, name, value] = /^\s*([^\s:]+)\s*:([^]*)$/.exec(line) ?? [];
    return name === undefined || value === undefined ? [] : [[name, value.trim()]];
  });
}
