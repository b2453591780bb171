import { builder } from "./builder.ts";
import "./scalars.ts";
import "./case.ts";
import "./case-list.ts";
import "./earning.ts";
import "./field-partner.ts";
import "./payment-link.ts";
import "./request-otp.ts";
import "./verify-otp.ts";
import "./refresh-session.ts";
import "./session.ts";
import "./sign-out.ts";
import "./start-visit.ts";
import "./complete-visit.ts";
import "./request-payment-link.ts";
import "./reveal-contact.ts";
import "./resend-payment-link.ts";
import "./sync.ts";

/** The field-partner app's API. */
export const schema = builder.toSchema();
