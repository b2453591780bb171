// The minimal process that answers over HTTP and queries a database. The service's start and memory are compared with
// it. It is JavaScript, because Node would need time and memory to remove types.
import express from "express";
import { Pool } from "pg";

const pool = new Pool({ connectionString: process.env["DATABASE_URL"] });
const app = express();
app.get("/readyz", async (_, response) => {
  await pool.query("select 1");
  response.json({ ready: true });
});
const server = app.listen(0, "127.0.0.1", () => {
  process.stdout.write(`Bare is ready at http://127.0.0.1:${server.address().port}\n`);
});
