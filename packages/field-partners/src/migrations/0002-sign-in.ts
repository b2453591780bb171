/** Adds sessions that last longer than one access token, one-time passwords, and an audit of both. */
export const signInMigration: readonly string[] = [
  `create table field_partners.token_pair (
     id uuid primary key,
     session_id uuid not null references field_partners.session (id) on delete cascade,
     access_token_hash bytea not null unique,
     access_expires_at timestamptz not null,
     refresh_token_hash bytea unique,
     refresh_expires_at timestamptz,
     issued_at timestamptz not null,
     used_at timestamptz,
     used_key uuid,
     check ((refresh_token_hash is null) = (refresh_expires_at is null)),
     check ((used_at is null) = (used_key is null)),
     unique (session_id, used_key)
   )`,
  `create index on field_partners.token_pair (refresh_expires_at)`,
  `insert into field_partners.token_pair (id, session_id, access_token_hash, access_expires_at, issued_at)
   select id, id, access_token_hash, expires_at, issued_at from field_partners.session`,
  `alter table field_partners.session
     drop column access_token_hash,
     add column device_name text,
     add column refreshed_at timestamptz,
     add column end_reason text check (end_reason in ('signed_out', 'ended_by_owner', 'reused_token', 'suspended'))`,

  `create table field_partners.otp (
     id uuid primary key,
     phone text not null,
     idempotency_key uuid not null unique,
     requested_at timestamptz not null,
     expires_at timestamptz not null,
     field_partner_id uuid references field_partners.field_partner (id),
     sent_at timestamptz,
     wrong_tries integer not null default 0,
     verified_at timestamptz,
     verified_key uuid,
     check ((verified_at is null) = (verified_key is null))
   )`,
  `create index on field_partners.otp (phone, requested_at)`,
  `create index on field_partners.otp (requested_at)`,

  // No foreign key: with one, ending a session would wait for the field partner's row while the session is locked.
  `create table field_partners.audit_entry (
     id uuid primary key,
     field_partner_id uuid not null,
     act text not null,
     reason text,
     data jsonb not null,
     at timestamptz not null
   )`,
  `create index on field_partners.audit_entry (field_partner_id, id)`,
];
