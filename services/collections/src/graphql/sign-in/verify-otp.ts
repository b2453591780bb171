import { transaction } from "@collections/database";
import { isOtpOfKnownDevice, type Tokens, verifyOtp } from "@collections/field-partners";
import { builder } from "../plumbing/builder.ts";
import { badInput } from "../plumbing/client-error.ts";
import type { Context } from "../plumbing/context.ts";
import "./sign-in-error.ts";
import { admitSignIn, keyConflict } from "./sign-in-limit.ts";
import { tokensPayload } from "./tokens.ts";
import {
  IdempotencyConflictError,
  OtpExpiredError,
  OtpWrongError,
  RateLimitedError,
  refusedError,
} from "../plumbing/user-error.ts";

const MAX_DEVICE_NAME_CHARS = 80;
/**
 * The longest device name that is normalized; a longer one is rejected at once. Even a name of 80 decomposed letters
 * with spaces around it is far shorter than this limit.
 */
const LONGEST_TEXT = 1_000;

const VerifyOtpInput = builder.inputType("VerifyOtpInput", {
  description: "The code that was sent to the phone.",
  fields: (t) => ({
    idempotencyKey: t.field({
      type: "UUID",
      required: true,
      description: "A new UUID for each code that is entered. A repeat of the request has the same UUID.",
    }),
    otpId: t.field({ type: "UUID", required: true, description: "The `otpId` that `requestOtp` returned." }),
    code: t.string({ required: true, description: "The code of six digits." }),
    deviceName: t.string({ description: "The name of this phone in the list of sessions, such as Redmi Note 12." }),
  }),
});

builder.mutationField("verifyOtp", (t) =>
  t.field({
    type: tokensPayload("VerifyOtpPayload", "The tokens of your new session."),
    nullable: true,
    skipTypeScopes: true,
    description: "Signs in with a code. Needs no access token.",
    args: {
      input: t.arg({
        type: VerifyOtpInput,
        required: true,
        description: "The code, and the request that it was sent for.",
      }),
    },
    errors: {
      types: [OtpWrongError, OtpExpiredError, RateLimitedError, IdempotencyConflictError],
      union: { description: "The tokens of a new session, or the reason why there are none." },
    },
    resolve: (_, { input }, context) => verify({ ...input, deviceName: deviceNameOf(input.deviceName) }, context),
  }),
);

type Given = { otpId: string; code: string; idempotencyKey: string; deviceName: string | null };

async function verify(given: Given, context: Context): Promise<{ tokens: Tokens }> {
  const { database, signInKeys: keys } = context.app;
  // If a known device requested the code, count the attempt for the code and not for the IP address. Others cannot
  // use up these attempts, because only that device knows the id of the code.
  const isKnownDevice = await isOtpOfKnownDevice(database.em(), given.otpId);
  await admitSignIn(context, isKnownDevice ? given.otpId : undefined);
  const outcome = await transaction(context.reads.em, (tx) => verifyOtp(tx, keys, given, new Date()));
  context.app.metrics.onSignIn("verify", outcome.kind);
  switch (outcome.kind) {
    case "signed_in":
      return outcome;
    case "wrong": {
      const { triesLeft } = outcome;
      throw refusedError({
        code: "OTP_WRONG",
        message: `The code is wrong. Attempts left: ${triesLeft}.`,
        triesLeft,
      });
    }
    case "expired":
      throw refusedError({ code: "OTP_EXPIRED", message: "This code is no longer valid; request another." });
    case "conflict":
      throw keyConflict();
  }
}

function deviceNameOf(text: string | null | undefined): string | null {
  const given = text ?? "";
  // Do not normalize a long text: a run of combining marks takes quadratic time, and the caller is not signed in yet.
  const name = given.length > LONGEST_TEXT ? given : given.normalize().trim();
  if (name === "") return null;
  if (name.length <= MAX_DEVICE_NAME_CHARS && !/[\p{Cc}\p{Cs}]/u.test(name)) return name;
  throw badInput(`A deviceName may have at most ${MAX_DEVICE_NAME_CHARS} characters, and no control characters.`);
}
