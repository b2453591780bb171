import type { Request } from "express";

/** A file that was sent with a form. */
export interface SentFile {
  readonly name: string;
  readonly bytes: Buffer;
}

/** The fields of a form, and its file. */
export interface ReceivedForm {
  readonly form: URLSearchParams;
  /** Undefined if no file was chosen. */
  readonly file: SentFile | undefined;
}

/** The name of the field with the file. */
export const FILE_FIELD = "file";

/** Reads the body of a form with a file. Returns undefined for a body that is no form. */
export async function receivedForm(request: Request, body: Buffer): Promise<ReceivedForm | undefined> {
  const type = request.headers["content-type"] ?? "";
  const data = await new Response(new Uint8Array(body), { headers: { "Content-Type": type } })
    .formData()
    .catch(() => {});
  if (!data) return undefined;
  const form = new URLSearchParams();
  let file: SentFile | undefined;
  for (const [name, value] of data) {
    if (typeof value === "string") form.append(name, value);
    else if (name === FILE_FIELD && (value.name !== "" || value.size > 0)) {
      file ??= { name: value.name, bytes: Buffer.from(await value.arrayBuffer()) };
    }
  }
  return { form, file };
}
