import { builder } from "../plumbing/builder.ts";
import {
  InvalidPhoneError,
  OtpExpiredError,
  OtpUnavailableError,
  OtpWrongError,
  RateLimitedError,
  SessionEndedError,
  SessionNotFoundError,
  UserErrorRef,
} from "../plumbing/user-error.ts";

const interfaces = [UserErrorRef];

builder.objectType(InvalidPhoneError, {
  name: "InvalidPhone",
  description: "The phone number is not in E.164: `+`, the country code and the number, in digits only.",
  interfaces,
});

builder.objectType(OtpExpiredError, {
  name: "OtpExpired",
  description:
    "The code is no longer valid: it is older than five minutes, was used, or was entered wrongly five " +
    "times. Request a new code.",
  interfaces,
});

builder.objectType(OtpUnavailableError, {
  name: "OtpUnavailable",
  description: "This service sends no codes. Its operator issues access tokens instead.",
  interfaces,
});

builder.objectType(OtpWrongError, {
  name: "OtpWrong",
  description: "The code is wrong.",
  interfaces,
  fields: (t) => ({
    triesLeft: t.int({
      description: "The number of attempts that are left. At 0, request a new code.",
      resolve: ({ refusal }) => refusal.triesLeft ?? 0,
    }),
  }),
});

builder.objectType(RateLimitedError, {
  name: "RateLimited",
  description: "Too many requests were sent. The same request may succeed later.",
  interfaces,
  fields: (t) => ({
    retryAfterS: t.int({
      description: "The number of seconds to wait.",
      resolve: ({ refusal }) => refusal.retryAfterS ?? 0,
    }),
  }),
});

builder.objectType(SessionEndedError, {
  name: "SessionEnded",
  description: "The refresh token is no longer valid. Sign in again.",
  interfaces,
});

builder.objectType(SessionNotFoundError, {
  name: "SessionNotFound",
  description: "You have no session with this id.",
  interfaces,
});
