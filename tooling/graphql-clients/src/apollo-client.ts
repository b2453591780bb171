import { ApolloClient, HttpLink, InMemoryCache } from "@apollo/client";
import { PersistedQueryLink } from "@apollo/client/link/persisted-queries";

/** Creates Apollo's client with automatic persisted queries: it sends the hash of a document first. */
export function apolloWithHashes({
  uri,
  accessToken,
  sha256,
}: {
  readonly uri: string;
  readonly accessToken: string;
  /** Returns the SHA-256 of a text in lower-case hex. */
  readonly sha256: (text: string) => string;
}): ApolloClient {
  const http = new HttpLink({ uri, headers: { authorization: `Bearer ${accessToken}` } });
  return new ApolloClient({ link: new PersistedQueryLink({ sha256 }).concat(http), cache: new InMemoryCache() });
}

export { gql } from "@apollo/client";
