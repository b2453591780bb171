import { inTurns } from "@collections/database";

/**
 * Returns the same text as `JSON.stringify`, for an object with long arrays. Lets the event loop run other work between the
 * elements of its arrays.
 */
export async function jsonInTurns(body: object): Promise<string> {
  const members: string[] = [];
  for (const [name, value] of Object.entries(body) as [string, unknown][]) {
    const text = Array.isArray(value) ? await arrayText(value) : JSON.stringify(value);
    if (text !== undefined) members.push(`${JSON.stringify(name)}:${text}`);
  }
  return `{${members.join(",")}}`;
}

async function arrayText(elements: readonly unknown[]): Promise<string> {
  // An array has null in place of a value that JSON does not have.
  const texts = await inTurns(elements, (element) => JSON.stringify(element) ?? "null");
  return `[${texts.join(",")}]`;
}
