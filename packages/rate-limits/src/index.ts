export { forgetPermits, type PermitRequest, type PermitGrant, type PermitRules, takePermits } from "./permit.ts";
export {
  type Admission,
  createRateLimiter,
  type RateLimiter,
  type RateLimiterOptions,
  type Use,
} from "./rate-limiter.ts";
