-- write_state: what the ledger says of a write, and what became of a bundle of it.
--
-- args   write transaction
-- uses   keys
-- reply  {the entry, empty if there is none, the state of the transaction, empty if there is none}

return { redis.call('HGETALL', key('write', write)), redis.call('HGET', key('transaction', transaction), 'state') or '' }
