import { z } from "zod";

/**
 * A row of an import, for the OpenAPI document (contract: POST cases: import). The service does not parse rows with
 * this schema: the cases package reads each field. A test checks that this schema and the cases package agree.
 */
export const upsertRow = z
  .object({
    sourceLoanNumber: z
      .string()
      .min(1)
      .max(64)
      .meta({
        description:
          "Your loan number, which identifies the loan in all requests. It has printable characters, such as `/`. " +
          "It cannot be `.` or `..`, because URLs drop these.",
      }),
    borrowerName: some(200).meta({ description: "The name of the borrower, which the field partner sees." }),
    borrowerPhone: phone().meta({
      description: "The borrower's phone number: E.164, or a national number of the row's country.",
    }),
    outstandingAmount: amount().meta({ description: "The amount that is owed now; 0 settles the case." }),
    action: z.enum(["upsert"]).nullish().meta({ description: "Creates or updates the case. This is the default." }),
    reason: some(500).nullish().meta({ description: "The reason why the case is settled, if this row settles it." }),
    outstandingAsOf: instant().meta({
      description:
        "The moment up to which captured payments are included in this balance: your last posting cut-off. " +
        "Payments with a later paidAt are subtracted from the balance.",
    }),
    currency: z
      .string()
      .length(3)
      .nullish()
      .meta({
        description:
          "The ISO 4217 code of the currency; by default the currency of the loan's current case or, without a " +
          "case, your own.",
      }),
    country: country().nullish().meta({ description: "The ISO 3166 code of the country; by default your own." }),
    minimumAmount: amount().nullish().meta({ description: "The lowest amount that a payment link may request." }),
    emiAmount: amount().nullish().meta({ description: "The installment that is due in each period." }),
    nextDueDate: day().meta({ description: "The day on which the next installment is due." }),
    overdueSince: day().meta({ description: "The first day on which the borrower was overdue." }),
    dpd: z.int().min(0).max(36_500).nullish().meta({ description: "The number of days past due." }),
    bucket: some(32).nullish().meta({
      description: "Your band of days past due; by default derived from `dpd`: 0, 1-30, 31-60, 61-90 or 90+.",
    }),
    productType: some(64).nullish().meta({ description: "The kind of the loan." }),
    branchCode: some(64).nullish().meta({ description: "The branch to which the loan belongs." }),
    allocationRef: some(128).nullish().meta({ description: "Your reference for this placement." }),
    tags: z.array(some(64)).max(20).nullish().meta({ description: "Your own tags." }),
    alternatePhones: z.array(phone()).max(10).nullish().meta({ description: "Other phone numbers of the borrower." }),
    borrowerEmail: some(254)
      .nullish()
      .meta({ description: "The borrower's e-mail address, to which a payment link may be sent." }),
    language: some(35).nullish().meta({ description: "The borrower's language, as a BCP 47 tag." }),
    addresses: z
      .array(address())
      .max(10)
      .nullish()
      .meta({ description: "The addresses where the borrower may be visited." }),
    consent: z
      .object({
        whatsapp: z.boolean().nullish().meta({ description: "Whether messages by WhatsApp are allowed." }),
        email: z.boolean().nullish().meta({ description: "Whether messages by e-mail are allowed." }),
      })
      .nullish()
      .meta({ description: "The borrower's consent to messages. A channel is allowed if its field is absent." }),
    doNotContactUntil: day().meta({ description: "The first day on which visits and links are allowed again." }),
    metadata: z
      .record(z.string().max(64), some(500))
      .nullish()
      .meta({
        description:
          "Up to 20 pairs of your own, which are stored with the case. Do not send identity numbers or card " +
          "numbers.",
        maxProperties: 20,
      }),
  })
  .meta({ description: "The details of a case. An absent field keeps its value; null clears it." });

export const controlRow = z
  .object({
    sourceLoanNumber: upsertRow.shape.sourceLoanNumber,
    action: z.enum(["withdraw", "hold", "release"]).meta({
      description:
        "`withdraw` takes the case back, `hold` stops all contact with the borrower, `release` allows contact " +
        "again.",
    }),
    reason: some(500).nullish().meta({ description: "The reason, in words." }),
  })
  .meta({ description: "A row that withdraws, holds or releases a case. Its other fields are not applied." });

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
      line1: line(200, "The house and the street."),
      line2: line(200, "The second line of the address."),
      landmark: line(200, "A landmark near the address."),
      city: line(100, "The city or village."),
      district: line(100, "The district."),
      state: line(100, "The state."),
      postalCode: line(20, "The postal code."),
      country: country()
        .nullish()
        .meta({ description: "The ISO 3166 code of the country; by default the country of the row." }),
      latitude: z.number().min(-90).max(90).nullish().meta({ description: "The latitude, in degrees north." }),
      longitude: z.number().min(-180).max(180).nullish().meta({ description: "The longitude, in degrees east." }),
    })
    .meta({ description: "An address of the borrower." });
}
