/** Something that the service took, and wants you to look at. */
export interface Warning {
  readonly code: string;
  /** RFC 6901 pointer to what it is about. */
  readonly pointer: string;
  readonly detail: string;
}

/** What every answer has. */
export interface Answer {
  readonly success: boolean;
  /** The service's name for the request. */
  readonly requestId: string;
  readonly warnings?: readonly Warning[];
}

/** Who the service takes you for, and how far your clock is from its own. contract: Health response */
export interface Health {
  readonly ok: boolean;
  readonly lenderCode: string;
  readonly env: string;
  readonly serverTime: string;
  readonly keyId: string;
  /** Server time minus the timestamp that was sent. */
  readonly skewMs: number;
  readonly apiVersion: string;
  readonly requestId: string;
}
