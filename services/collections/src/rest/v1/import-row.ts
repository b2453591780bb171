import { z } from "zod";

/**
 * A row of an import, for the OpenAPI document (contract: POST cases: import). The service does not parse rows with
 * this schema: the cases package reads each field. A test compares the two.
 */
export const upsertRow = z
  .object({
    sourceLoanNumber: z.string().min(1).max(64).meta({
      description:
        "Your loan number: printable characters, `/` among them; the key of everything. Not `.` or `..`, which URLs drop.",
    }),
    borrowerName: some(200).meta({ description: "Whom the field partner asks for." }),
    borrowerPhone: phone().meta({ description: "E.164, or a national number of the row's country." }),
    outstandingAmount: amount().meta({ description: "What is owed now; 0 settles the case." }),
    action: z.enum(["upsert"]).nullish().meta({ description: "What a row does unless told." }),
    reason: some(500).nullish().meta({ description: "Why the case is settled, where this row settles it." }),
    outstandingAsOf: instant().meta({
      description:
        "The moment up to which captured payments are included in this balance: your last posting cut-off. Payments with a later paidAt are subtracted from it.",
    }),
    currency: z
      .string()
      .length(3)
      .nullish()
      .meta({ description: "ISO 4217; by default that of the loan's current case, else yours." }),
    country: country().nullish().meta({ description: "ISO 3166; by default yours." }),
    minimumAmount: amount().nullish().meta({ description: "The least that a payment link may ask for." }),
    emiAmount: amount().nullish().meta({ description: "What is due in each period." }),
    nextDueDate: day().meta({ description: "When the next one is due." }),
    overdueSince: day().meta({ description: "The first day that it was not paid." }),
    dpd: z.int().min(0).max(36_500).nullish().meta({ description: "Days past due." }),
    bucket: some(32).nullish().meta({ description: "Else derived: 0, 1-30, 31-60, 61-90, 90+." }),
    productType: some(64).nullish().meta({ description: "The kind of loan." }),
    branchCode: some(64).nullish().meta({ description: "The branch that the loan is of." }),
    allocationRef: some(128).nullish().meta({ description: "Your name for this placement." }),
    tags: z.array(some(64)).max(20).nullish().meta({ description: "Words of your own." }),
    alternatePhones: z.array(phone()).max(10).nullish().meta({ description: "Further phone numbers." }),
    borrowerEmail: some(254).nullish().meta({ description: "Where a payment link may be sent." }),
    language: some(35).nullish().meta({ description: "The borrower's language, BCP 47." }),
    addresses: z.array(address()).max(10).nullish().meta({ description: "Where the borrower may be met." }),
    consent: z
      .object({
        whatsapp: z.boolean().nullish().meta({ description: "Messages by WhatsApp." }),
        email: z.boolean().nullish().meta({ description: "Messages by e-mail." }),
      })
      .nullish()
      .meta({ description: "What the borrower agreed to; a channel that nobody named is allowed." }),
    doNotContactUntil: day().meta({ description: "No visit and no link before that day." }),
    metadata: z
      .record(z.string().max(64), some(500))
      .nullish()
      .meta({ description: "Up to 20 pairs, kept for you. No identity numbers, no card numbers.", maxProperties: 20 }),
  })
  .meta({ description: "How a case is. A field that is absent stays as it is; null clears it." });

export const controlRow = z
  .object({
    sourceLoanNumber: upsertRow.shape.sourceLoanNumber,
    action: z
      .enum(["withdraw", "hold", "release"])
      .meta({ description: "Take the case back, stop all contact, or allow it again." }),
    reason: some(500).nullish().meta({ description: "Why, in words." }),
  })
  .meta({ description: "A row that changes only whether a case is worked. Other fields of it are not applied." });

function some(maxLength: number) {
  return z.string().min(1).max(maxLength);
}

function phone() {
  return z.string().max(40);
}

function amount() {
  return z.number().min(0);
}

function instant() {
  return z.string().meta({ format: "date-time" }).nullish();
}

function day() {
  return z.string().meta({ format: "date" }).nullish();
}

function country() {
  return z.string().regex(/^[A-Z]{2}$/);
}

function address() {
  const line = (maxLength: number, description: string) => some(maxLength).nullish().meta({ description });
  return z
    .object({
      line1: line(200, "House and street."),
      line2: line(200, "What goes below that."),
      landmark: line(200, "What is near."),
      city: line(100, "City or village."),
      district: line(100, "District."),
      state: line(100, "State."),
      postalCode: line(20, "Postal code."),
      country: country().nullish().meta({ description: "ISO 3166; by default the row's." }),
      latitude: z.number().min(-90).max(90).nullish().meta({ description: "Degrees north." }),
      longitude: z.number().min(-180).max(180).nullish().meta({ description: "Degrees east." }),
    })
    .meta({ description: "An address of the borrower." });
}
