/** SHA-256 signs; the others are known in order to recognise somebody's mistake. */
export type DigestAlgorithm = "sha1" | "sha256" | "sha512";
