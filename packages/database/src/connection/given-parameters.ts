/** Environment variables by name. */
export type Variables = Readonly<Record<string, string | undefined>>;

/** The parameters that are obeyed, and the environment variables of libpq that give their defaults. */
const OBEYED = {
  application_name: "PGAPPNAME",
  connect_timeout: "PGCONNECT_TIMEOUT",
  options: "PGOPTIONS",
  pgbouncer: undefined,
  ssl_min_protocol_version: "PGSSLMINPROTOCOLVERSION",
  sslcert: "PGSSLCERT",
  sslkey: "PGSSLKEY",
  sslmode: "PGSSLMODE",
  sslrootcert: "PGSSLROOTCERT",
  target_session_attrs: "PGTARGETSESSIONATTRS",
} as const;

type Obeyed = keyof typeof OBEYED;

/** The remedies for some of the parameters that are not obeyed. The remedy for all others is to remove them. */
const REMEDIES: ReadonlyMap<string, string> = new Map([
  ["channel_binding", "use sslmode=verify-full, which prevents the same attack"],
  ["fallback_application_name", "use application_name"],
  ["hostaddr", "write the address in place of the host name"],
  ["ssl", "use sslmode"],
  ["sslpassword", "use a key file without a passphrase"],
]);

/** Variables that would make a connection of libpq safer, or would send it elsewhere. They are not obeyed. */
const NOT_OBEYED = [
  "PGCHANNELBINDING",
  "PGHOSTADDR",
  "PGREQUIREAUTH",
  "PGREQUIREPEER",
  "PGREQUIRESSL",
  "PGSERVICE",
  "PGSSLCRL",
  "PGSSLCRLDIR",
  "PGSSLMAXPROTOCOLVERSION",
  "PGSSLNEGOTIATION",
];

/** The parameters of a URL and the environment variables of libpq. Collects the problems that are found in them. */
export class GivenParameters {
  readonly problems: string[] = [];
  readonly #parameters: Map<string, string>;
  readonly #env: Variables;

  constructor(parameters: ReadonlyMap<string, string>, env: Variables) {
    this.#parameters = new Map(parameters);
    this.#env = env;
    // libpq accepts `ssl=true` too, because JDBC writes it so.
    if (parameters.get("ssl") === "true") {
      this.#parameters.delete("ssl");
      if (!parameters.has("sslmode")) this.#parameters.set("sslmode", "require");
    }
    for (const name of this.#parameters.keys()) {
      if (Object.hasOwn(OBEYED, name)) continue;
      this.problem(`has the parameter ${name}, which is not supported: ${REMEDIES.get(name) ?? "remove it"}`);
    }
    for (const name of NOT_OBEYED) if (env[name]) this.problem(`${name} is set, but is not supported: unset it`);
  }

  /** The parts of an address that the URL may leave out. */
  get defaults() {
    const { PGHOST, PGPORT, PGUSER, PGPASSWORD, PGDATABASE } = this.#env;
    return {
      host: PGHOST || "localhost",
      port: Number(PGPORT || 5432),
      user: PGUSER || undefined,
      password: PGPASSWORD || undefined,
      database: PGDATABASE || undefined,
    };
  }

  problem(sentence: string): void {
    this.problems.push(sentence);
  }

  /** The parameter, or else its variable. An empty text counts as absent. */
  value(name: Obeyed): string | undefined {
    const variable = OBEYED[name];
    return this.#parameters.get(name) || (variable && this.#env[variable]) || undefined;
  }

  /** Reports that the value of a parameter cannot be used. */
  reject(name: Obeyed, reason: string): void {
    const fromUrl = this.#parameters.get(name);
    this.problem(fromUrl ? `has ${name}=${fromUrl}: ${reason}` : `${OBEYED[name]} is ${this.value(name)}: ${reason}`);
  }

  /** Returns the value of a parameter that takes a few words. Rejects any other value. */
  choice<Word extends string>(name: Obeyed, words: readonly Word[]): Word | undefined {
    const value = this.value(name);
    const known = words.find((word) => word === value);
    if (value !== undefined && known === undefined) this.reject(name, `expected ${words.join(", ")}`);
    return known;
  }
}
