-- What @collections/lender-sdk keeps in your database. Add it to your migrations; another schema needs its name told
-- to postgresStorage(pool, { schema }).
create schema collections_receiver;

-- How far each loan is. The row is locked while an event of the loan is applied.
create table collections_receiver.loan (
  source_loan_number text primary key,
  sequence bigint not null
);

-- Which events were applied. What is older than 35 days is not sent again and may be deleted.
create table collections_receiver.event (
  event_id text primary key,
  source_loan_number text not null,
  kept_at timestamptz not null default now()
);

create index on collections_receiver.event (kept_at);
