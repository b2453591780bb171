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
  description: "The phone is not written as E.164 has it: `+`, the country and the number, digits only.",
  interfaces,
});

builder.objectType(OtpExpiredError, {
  name: "OtpExpired",
  description:
    "The code counts no more: five minutes are over, five tries were wrong, or it was used. Ask for another.",
  interfaces,
});

builder.objectType(OtpUnavailableError, {
  name: "OtpUnavailable",
  description: "This service sends no codes: whoever runs it hands out access tokens.",
  interfaces,
});

builder.objectType(OtpWrongError, {
  name: "OtpWrong",
  description: "The code is another one.",
  interfaces,
  fields: (t) => ({
    triesLeft: t.int({
      description: "How often another one may be tried; at 0 ask for a new code.",
      resolve: ({ refusal }) => refusal.triesLeft ?? 0,
    }),
  }),
});

builder.objectType(RateLimitedError, {
  name: "RateLimited",
  description: "Too often for now. The same request again, later, may do it.",
  interfaces,
  fields: (t) => ({
    retryAfterS: t.int({
      description: "How many seconds to wait.",
      resolve: ({ refusal }) => refusal.retryAfterS ?? 0,
    }),
  }),
});

builder.objectType(SessionEndedError, {
  name: "SessionEnded",
  description: "The refresh token counts no more, whatever the reason: sign in again.",
  interfaces,
});

builder.objectType(SessionNotFoundError, {
  name: "SessionNotFound",
  description: "There is no such session among yours.",
  interfaces,
});
