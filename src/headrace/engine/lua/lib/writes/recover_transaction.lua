-- recover_transaction: let the agenda continue a transaction that no client has continued. A committed
-- transaction is published. On the coordinator, a transaction that was never committed is aborted. A
-- finished transaction is deleted.
--
-- uses   keys now transactions staged_chunks

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

local function recover_transaction(transaction)
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
