export { type MailFault, MailNotSentError } from "./mail-not-sent.ts";
export {
  createMailer,
  InvalidMailerOptionsError,
  type Mail,
  type Mailer,
  type MailerOptions,
  type SentMail,
} from "./mailer.ts";
export { checkSmsBody, createSmsGateway, InvalidSmsBodyError, type SmsGateway, type SmsGatewayOptions } from "./sms.ts";
export { type SmsFault, SmsNotSentError } from "./sms-not-sent.ts";
export { type WhatsAppFault, WhatsAppNotSentError } from "./whatsapp-not-sent.ts";
export { createWhatsApp, type TemplateMessage, type WhatsApp, type WhatsAppOptions } from "./whatsapp.ts";
export {
  isLikeSignatureOfMeta,
  isSameToken,
  isSignedByMeta,
  readWhatsAppStatuses,
  type WhatsAppStatus,
} from "./whatsapp-webhook.ts";
