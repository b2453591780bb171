import { v7 } from "uuid";

/** A new UUIDv7: made by the application, and its order is the order of time. */
export function newId(): string {
  return v7();
}

/** The id that people outside see: `publicId("case", uuid)` is `case_` and the 32 hex digits of the UUID. */
export function publicId(prefix: string, id: string): string {
  return `${prefix}_${id.replaceAll("-", "")}`;
}

/** The UUID inside a public id, or undefined when the text is not a public id with this prefix. */
export function parsePublicId(prefix: string, text: string): string | undefined {
  if (!text.startsWith(`${prefix}_`)) return undefined;
  const hex = text.slice(prefix.length + 1);
  if (!/^[0-9a-f]{32}$/.test(hex)) return undefined;
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}
