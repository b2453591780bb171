/** Returns the path of a case's page below the path of the console. */
export function casePath(lenderCode: string, loan: string): string {
  return `/cases/${encodeURIComponent(lenderCode)}/${encodeURIComponent(loan)}`;
}

/** Returns the path of a delivery's page below the path of the console. */
export function deliveryPath(eventId: string): string {
  return `/deliveries/${encodeURIComponent(eventId)}`;
}

/** Returns the path of a field partner's page, or of a form about the field partner, below the path of the console. */
export function personPath(fieldPartnerId: string, form?: "phone" | "move" | "suspend" | "resume"): string {
  return `/field-partners/${encodeURIComponent(fieldPartnerId)}${form === undefined ? "" : `/${form}`}`;
}

/** Returns the path of a reconciliation's page below the path of the console. */
export function reconciliationPath(lenderCode: string, runId: string): string {
  return `/reconciliations/${encodeURIComponent(lenderCode)}/${encodeURIComponent(runId)}`;
}

/** Returns the path of a lender's connection, with what was done. */
export function connectionPath(lenderCode: string, done?: string): string {
  return withQuery("/connection", { lender: lenderCode, ...(done !== undefined && { done }) });
}

/** Returns the path of a form of a lender's connection. */
export function connectionForm(lenderCode: string, form: "settings" | "keys" | "callback-test" | "mint-test"): string {
  return `/connection/${encodeURIComponent(lenderCode)}/${form}`;
}

/** Returns the path of the form of an order for an API key. */
export function keyPath(
  { lenderCode, keyId }: { readonly lenderCode: string; readonly keyId: string },
  order: string,
): string {
  return `${connectionForm(lenderCode, "keys")}/${encodeURIComponent(keyId)}/${order}`;
}

/** Returns the path of an upload's page, of one of its forms, or of its rejected rows, below the path of the console. */
export function uploadPath(
  { lenderCode, uploadId }: { readonly lenderCode: string; readonly uploadId: string },
  part?: "check" | "apply" | "rejected.csv",
): string {
  const path = `/uploads/${encodeURIComponent(lenderCode)}/${encodeURIComponent(uploadId)}`;
  return part === undefined ? path : `${path}/${part}`;
}

/** Returns the path of the form that books the missing payments of an upload. */
export function missingPath({
  lenderCode,
  uploadId,
}: {
  readonly lenderCode: string;
  readonly uploadId: string;
}): string {
  return `/money/missing/${encodeURIComponent(lenderCode)}/${encodeURIComponent(uploadId)}`;
}

/** Returns a path with a query. */
export function withQuery(path: string, query: Record<string, string>): string {
  return `${path}?${new URLSearchParams(query).toString()}`;
}
