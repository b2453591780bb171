-- The tables of @collections/lender-sdk in your database. Add this file to your migrations.
-- If you use another schema, pass its name to postgresStorage(pool, { schema }).
create schema collections_receiver;

-- The last applied sequence of each loan. The row is locked while an event of the loan is applied.
create table collections_receiver.loan (
  source_loan_number text primary key,
  sequence bigint not null
);

-- The events that were applied. Rows older than 35 days may be deleted, because such events are not sent again.
create table collections_receiver.event (
  event_id text primary key,
  source_loan_number text not null,
  kept_at timestamptz not null default now()
);

create index on collections_receiver.event (kept_at);
