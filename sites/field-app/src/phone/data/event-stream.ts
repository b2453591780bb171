/** One event of a stream of server-sent events. */
export interface StreamEvent {
  readonly event: string;
  readonly data: string;
}

/**
 * Parses a text stream into events, wherever its chunks are cut. Comments, which only keep the connection open, become
 * events without data.
 */
export async function* eventsIn(chunks: AsyncIterable<string>): AsyncGenerator<StreamEvent> {
  let text = "";
  for await (const chunk of chunks) {
    text += chunk.replaceAll("\r\n", "\n");
    const blocks = text.split("\n\n");
    text = blocks.pop() ?? "";
    for (const block of blocks) yield eventOf(block);
  }
}

function eventOf(block: string): StreamEvent {
  const lines = block.split("\n");
  return { event: valueIn(lines, "event")[0] ?? "message", data: valueIn(lines, "data").join("\n") };
}

function valueIn(lines: readonly string[], name: string): string[] {
  return lines.flatMap((line) => (line.startsWith(`${name}:`) ? [line.slice(name.length + 1).trimStart()] : []));
}
