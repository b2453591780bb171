/** Signatures use SHA-256. The other algorithms are needed to recognise mistakes of clients. */
export type DigestAlgorithm = "sha1" | "sha256" | "sha512";
