import type { Answer } from "./answer.ts";

/** The person of your staff who gets a link to the portal. contract: POST portal-links */
export interface PortalPerson {
  /** The person's name, as the audit will show it: 1 to 50 characters. Default: `Staff`. */
  readonly name?: string;
}

/** A link that signs in to the portal once. contract: POST portal-links */
export interface PortalLink extends Answer {
  /** Redirect the person's browser to it. Whoever opens it first can sign in, so do not log it. */
  readonly url: string;
  /** Until when the link can be used: ISO 8601, in UTC. */
  readonly expiresAt: string;
}
