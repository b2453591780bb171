/** How many there may be in a minute, of each limit; `off` where nobody is limited. */
export type RateLimits = "off" | Record<LimitName, number>;

/** What has a limit: each endpoint of the REST API, the app's operations, and what is counted by its address. */
export type LimitName = keyof typeof DEFAULT_RATE_LIMITS;

/** An endpoint that lenders call, by the name that limits and metrics know it by. */
export type LimitedEndpoint = Exclude<LimitName, (typeof NO_ENDPOINTS)[number]>;

const NO_ENDPOINTS = ["app", "failed-authentication", "sign-in", "known-device", "refresh"] as const;

/** A minute of: a key, a field partner, a session, or an address for what comes without a right one (contract: Limits). */
export const DEFAULT_RATE_LIMITS = {
  confirm: 6_000,
  "get-case": 6_000,
  import: 60,
  health: 60,
  "webhooks-test": 6,
  "deliveries-list": 600,
  "deliveries-get": 600,
  "deliveries-replay-one": 600,
  "deliveries-replay": 6,
  "replays-get": 60,
  "debug-signature": 30,
  // Operations of one field partner, on all their phones.
  app: 120,
  "failed-authentication": 60,
  // Many phones share the address of their mobile network.
  "sign-in": 120,
  // Of one device that was signed in before: requests for a code, and tries of each code.
  "known-device": 20,
  // Of one session. A phone needs one in 15 minutes, and repeats it while the signal is weak.
  refresh: 30,
};

/** Those of endpoints: a lender can have its own. */
export const LIMITED_ENDPOINTS = Object.keys(DEFAULT_RATE_LIMITS).filter(
  (name): name is LimitedEndpoint => !NO_ENDPOINTS.some((other) => other === name),
);

/** Reads `default`, or changes to it such as `confirm=60000,import=5`; `mistake` completes a sentence about them. */
export function parseRateLimits(text: string): { limits: Record<LimitName, number>; mistake?: string } {
  const limits = { ...DEFAULT_RATE_LIMITS };
  if (text === "default") return { limits };
  for (const part of text.split(",")) {
    const [name = "", count = ""] = part.trim().split("=");
    if (!Object.hasOwn(limits, name)) {
      return { limits, mistake: `names no endpoint "${name}"; there are ${Object.keys(limits).join(", ")}` };
    }
    if (!/^[1-9]\d{0,8}$/.test(count)) {
      return { limits, mistake: `takes a count of requests a minute, such as ${name}=6000` };
    }
    limits[name as LimitName] = Number(count);
  }
  return { limits };
}
