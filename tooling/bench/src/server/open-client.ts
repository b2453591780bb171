import { Client } from "pg";

/** A connection of the benchmark's own. Should it be lost, who waits for an answer hears of it. */
export async function openClient(databaseUrl: string): Promise<Client> {
  const client = new Client({ connectionString: databaseUrl });
  client.on("error", () => {});
  await client.connect();
  return client;
}
