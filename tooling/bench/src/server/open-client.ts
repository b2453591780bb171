import { Client } from "pg";

/** Opens a connection. If it is lost, the query under way rejects. */
export async function openClient(databaseUrl: string): Promise<Client> {
  const client = new Client({ connectionString: databaseUrl });
  client.on("error", () => {});
  await client.connect();
  return client;
}
