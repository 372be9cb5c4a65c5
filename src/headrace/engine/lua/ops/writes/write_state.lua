-- write_state: return the commit log entry of a write, and the state of a transaction.
--
-- args   write transaction
-- flags  no-writes
-- uses   keys
-- reply  {commit log entry or {}, state of the transaction or ''}

return {
  redis.call('HGETALL', key('write', write)),
  redis.call('HGET', key('transaction', transaction), 'state') or '',
}
