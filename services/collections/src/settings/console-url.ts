import type { Config } from "./config.ts";

/**
 * Returns the URL of the console: below `PUBLIC_URL`, or at the address of this machine in a sandbox without `PUBLIC_URL`.
 *
 * @param listening the URL at which the service listens, if this process serves the console
 */
export function consoleUrl({ publicUrl, publicBasePath, host, port }: Config, listening?: string): string {
  const here = listening ?? `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
  return `${publicUrl ?? here}${publicUrl === undefined ? "" : publicBasePath}/console`;
}

/** Returns the URL of a sign-in link. */
export function signInUrl(console: string, token: string): string {
  return `${console}/sign-in/${token}`;
}

/** Returns the name of a lender's staff in the audit and in the list of sessions: Ravi of ACME. */
export function portalName(lenderCode: string, person: string | undefined): string {
  return `${person ?? "Staff"} of ${lenderCode}`;
}

/** Whether a name is that of a lender's staff. */
export function isPortalName(lenderCode: string, name: string): boolean {
  return name.endsWith(` of ${lenderCode}`);
}
