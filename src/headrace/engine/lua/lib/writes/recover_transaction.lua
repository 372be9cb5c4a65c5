-- recover_transaction: continue a transaction from the agenda: publish a committed one, abort on the
-- coordinator one that was never committed, delete one that is done.
--
-- uses   keys now transactions staged_chunks
-- later  publish_rows

local PAUSE = 20

local function publish_next(transaction, is_coordinator)
  local queue, policy = unpack(redis.call('HMGET', key('transaction', transaction), 'queue', 'on_exists'))
  local chunk, attempt = next_chunk(transaction)
  local counted = {}
  if chunk then
    local every, others = read_chunk(chunk)
    counted = publish_rows(queue, policy, every, others)
  end
  if note_published(transaction, is_coordinator, attempt, counted) then
    recover_at(transaction, now + PAUSE)
  end
end

return function(transaction)
  local state, coordinator = unpack(redis.call('HMGET', key('transaction', transaction), 'state', 'coordinator'))
  local is_coordinator = coordinator == '1'
  if state == 'committed' then
    publish_next(transaction, is_coordinator)
  elseif state == 'prepared' or state == 'aborted' and attempts_left(transaction) then
    abort_transaction(transaction, is_coordinator)
  elseif state == 'published' and is_coordinator then
    recover_at(transaction, now + RECORDS_FOR)
  elseif state then
    delete_transaction(transaction)
  end
end
