/** A possible mistake in a request that the service accepted nevertheless. */
export interface Warning {
  readonly code: string;
  /** RFC 6901 pointer to the field that the warning is about. */
  readonly pointer: string;
  readonly detail: string;
}

/** The fields that every answer has. */
export interface Answer {
  readonly success: boolean;
  /** The service's id of the request. */
  readonly requestId: string;
  readonly warnings?: readonly Warning[];
}

/**
 * The lender and API key that the service identified, and how far your clock differs from the service's. contract:
 * Health response
 */
export interface Health {
  readonly ok: boolean;
  readonly lenderCode: string;
  readonly env: string;
  readonly serverTime: string;
  readonly keyId: string;
  /** Server time minus the timestamp of your request. */
  readonly skewMs: number;
  readonly apiVersion: string;
  readonly requestId: string;
}
