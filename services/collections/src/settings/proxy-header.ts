/** The headers in which a proxy names the client. */
export const PROXY_HEADERS = ["x-forwarded-for", "forwarded"] as const;
export type ProxyHeader = (typeof PROXY_HEADERS)[number];
