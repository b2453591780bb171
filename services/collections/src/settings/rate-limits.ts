/** The maximum number of uses per minute for each limit; `off` if there are no limits. */
export type RateLimits = "off" | Record<LimitName, number>;

/** Names of limits: endpoints of the REST API, operations of the app, sign-ins, and failed authentications. */
export type LimitName = keyof typeof DEFAULT_RATE_LIMITS;

/** The name of a REST endpoint in limits and metrics. */
export type LimitedEndpoint = Exclude<LimitName, (typeof OTHER_LIMITS)[number]>;

const OTHER_LIMITS = ["app", "failed-authentication", "sign-in", "known-device", "refresh"] as const;

/**
 * The maximum number of uses per minute. Uses are counted for each API key, field partner or session. Requests without
 * authentication are counted for each IP address (contract: Limits).
 */
export const DEFAULT_RATE_LIMITS = {
  confirm: 6_000,
  "get-case": 6_000,
  "cases-list": 600,
  "payments-list": 600,
  reverse: 6_000,
  import: 60,
  reconcile: 60,
  "reconciliations-list": 600,
  "reconciliations-get": 600,
  health: 60,
  "webhooks-test": 6,
  "mint-link-test": 6,
  "deliveries-list": 600,
  "deliveries-get": 600,
  "deliveries-replay-one": 600,
  "deliveries-replay": 6,
  "replays-get": 60,
  "debug-signature": 30,
  "portal-links": 60,
  "sandbox-play": 30,
  // Operations of one field partner, on all phones together.
  app: 120,
  "failed-authentication": 60,
  // Sign-ins from one address. The limit is high, because many phones share the address of their mobile network.
  "sign-in": 120,
  // Requests for a code from one device that was signed in before. For each code that such a device requested, also the
  // attempts to enter that code.
  "known-device": 20,
  // Refreshes of one session. A phone needs one every 15 minutes, and repeats it while the signal is weak.
  refresh: 30,
};

/** The limits of endpoints. The operator can set them per lender. */
export const LIMITED_ENDPOINTS = Object.keys(DEFAULT_RATE_LIMITS).filter(
  (name): name is LimitedEndpoint => !OTHER_LIMITS.some((other) => other === name),
);

/**
 * Reads `default`, or changes to it such as `confirm=60000,import=5`. `mistake` continues the sentence that begins with
 * the name of the setting.
 */
export function parseRateLimits(text: string): { limits: Record<LimitName, number>; mistake?: string } {
  const limits = { ...DEFAULT_RATE_LIMITS };
  if (text === "default") return { limits };
  for (const part of text.split(",")) {
    const [name = "", count = ""] = part.trim().split("=");
    if (!Object.hasOwn(limits, name)) {
      return {
        limits,
        mistake: `names "${name}", which is not a limit; the limits are ${Object.keys(limits).join(", ")}`,
      };
    }
    if (!/^[1-9]\d{0,8}$/.test(count)) {
      return { limits, mistake: `takes a count of requests a minute, such as ${name}=6000` };
    }
    limits[name as LimitName] = Number(count);
  }
  return { limits };
}
