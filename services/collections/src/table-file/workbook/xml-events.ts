import { StringDecoder } from "node:string_decoder";
import sax from "sax";
import { damaged } from "./zip-parts.ts";

/** What happens in an XML part. Names have no prefix. */
export interface XmlEvents {
  open?(name: string, attributes: Readonly<Record<string, string>>): void;
  text?(text: string): void;
  close?(name: string): void;
}

/**
 * Reads an XML part, and calls `events`. Between two pieces of the part, `between` is yielded, so that what was read can be
 * processed before more is read. Entities that the part declares are not expanded.
 */
export async function* readXml<Item>(
  bytes: AsyncIterable<Buffer>,
  events: XmlEvents,
  between: () => Item,
): AsyncGenerator<Item> {
  const parser = sax.parser(true, { position: false });
  parser.onopentag = ({ name, attributes }) => events.open?.(local(name), attributes as Record<string, string>);
  parser.ontext = (text) => events.text?.(text);
  parser.oncdata = (text) => events.text?.(text);
  parser.onclosetag = (name) => events.close?.(local(name));
  let failure: Error | undefined;
  parser.onerror = (error) => {
    failure ??= error;
  };
  const decoder = new StringDecoder("utf8");
  const write = (text: string) => {
    parser.write(text);
    if (failure) throw damaged(failure);
  };
  for await (const chunk of bytes) {
    write(decoder.write(chunk));
    yield between();
  }
  write(decoder.end());
  parser.close();
  if (failure) throw damaged(failure);
  yield between();
}

/** Reads a whole XML part. */
export async function readWholeXml(bytes: AsyncIterable<Buffer>, events: XmlEvents): Promise<void> {
  for await (const _ of readXml(bytes, events, () => undefined));
}

function local(name: string): string {
  return name.slice(name.indexOf(":") + 1);
}
