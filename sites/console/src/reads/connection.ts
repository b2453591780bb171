/** The callback, the mint endpoint, the contacts and the API keys of a lender. Times are local times in `timeZone`. */
export interface ConnectionPage {
  /** The codes of all lenders, sorted. */
  readonly lenderCodes: readonly string[];
  /** Undefined if there is no such lender. */
  readonly connection:
    | {
        readonly lenderCode: string;
        readonly timeZone: string;
        readonly endpoint: readonly (readonly [name: string, value: string])[];
        readonly hasCallback: boolean;
        readonly isHealthy: boolean;
        readonly mint: { readonly url: string | null; readonly header: string };
        readonly technicalContacts: readonly string[];
        readonly keys: readonly {
          readonly keyId: string;
          readonly state: string;
          /** The age in days. */
          readonly days: number;
          readonly lastUsedAt: string;
          /** Null unless the key retires. */
          readonly endsAt: string | null;
          readonly isSigning: boolean;
          /** The orders that the state of the key permits. */
          readonly orders: readonly KeyOrderKind[];
        }[];
      }
    | undefined;
}

/** The settings of a lender as texts of a form. An empty text removes a URL. Each line has a contact. */
export interface TypedSettings {
  readonly callbackUrl: string;
  readonly mintLinkUrl: string;
  readonly technicalContacts: string;
}

/** The settings that a form changes. */
export interface SettingsView {
  readonly lenderCode: string;
  readonly settings: TypedSettings;
  readonly hasMintAuthHeader: boolean;
}

/** A change of settings. Only those that differ from `shown` are changed. */
export interface SettingsChange {
  readonly lenderCode: string;
  readonly shown: TypedSettings;
  readonly wanted: TypedSettings;
  /** `Name: value`, a secret. Undefined leaves the header as it is, null removes it. */
  readonly mintAuthHeader: string | null | undefined;
  readonly reason: string;
}

/** An API key of a lender. */
export interface KeyName {
  readonly lenderCode: string;
  readonly keyId: string;
}

/** An API key, without its secret. */
export interface KeyView extends KeyName {
  readonly timeZone: string;
  readonly state: string;
  readonly isSigning: boolean;
  readonly endsAt: string | null;
}

/** The orders for an API key. */
export const KEY_ORDERS = ["sign", "retire", "revoke"] as const;
/** An order for an API key. */
export type KeyOrderKind = (typeof KEY_ORDERS)[number];

/** An order for an API key with its values. `at` is a local time of the lender. */
export type KeyOrder = KeyName & { readonly reason: string } & (
    | { readonly order: "retire"; readonly at: string }
    | { readonly order: Exclude<KeyOrderKind, "retire"> }
  );

/** A new API key. `signedBy` is the key that signs webhooks now. */
export interface CreatedKey {
  readonly kind: "created";
  readonly keyId: string;
  readonly secret: string;
  readonly signedBy: string | null;
}

/** A test call to a lender, in words. */
export interface TestedCall {
  readonly isAnswered: boolean;
  readonly headline: string;
  readonly request: string;
  readonly answer: string;
  /** Null if the call has succeeded. */
  readonly failure: { readonly cause: string; readonly remedy: string } | null;
}

/** The scenes that a sandbox can play, with their events. */
export interface ScenesPage {
  /** The codes of all lenders, sorted. */
  readonly lenderCodes: readonly string[];
  /** Undefined if there is no such lender. */
  readonly lenderCode: string | undefined;
  readonly scenes: readonly { readonly scene: string; readonly about: string; readonly events: string }[];
}

/** A scene to play on a loan. */
export interface SceneToPlay {
  readonly lenderCode: string;
  readonly loan: string;
  readonly scene: string;
}

/** A scene that was played, with the events that it caused. */
export interface PlayedScene {
  readonly kind: "played";
  readonly loan: string;
  /** Why the scene ended early; null if it was played to its end. */
  readonly stoppedBecause: string | null;
  readonly events: readonly {
    readonly eventId: string;
    /** The code of the kind of event; `what` has its words. */
    readonly kind: string;
    readonly what: string;
    readonly sequence: number;
  }[];
}
