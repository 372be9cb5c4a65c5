-- publish: turn the rows of one chunk of a committed transaction into jobs, and remove the chunk in the
-- same script. Therefore a row never becomes two jobs, however many clients publish the transaction. A
-- published transaction needs no more calls.
--
-- args   transaction
-- uses   keys sorted_sets plain_put transactions staged_chunks write_back
-- reply  {1 if more chunks are left else 0, jobs made, moved, replaced, skipped}, or a refusal
-- error  NOT_COMMITTED WRITE_ABORTED

local state, coordinator, queue, policy = unpack(redis.call('HMGET', key('transaction', transaction), 'state',
  'coordinator', 'queue', 'on_exists'))
local is_coordinator = coordinator == '1'

local function counts(more)
  return { more, unpack(redis.call('HMGET', key('transaction', transaction), 'made', 'moved', 'replaced', 'skipped')) }
end

if state == 'aborted' then
  return 'WRITE_ABORTED'
elseif state == 'prepared' and is_coordinator then
  return 'NOT_COMMITTED'
elseif not state or state == 'published' then
  return counts(0)
end

if state ~= 'committed' then
  redis.call('HSET', key('transaction', transaction), 'state', 'committed')
end
mark_in_progress(transaction)
local chunk, attempt = next_chunk(transaction)
if not chunk then
  note_published(transaction, is_coordinator, attempt, {})
  flush_zsets()
  return counts(0)
end

local every, others = read_chunk(chunk)
local made, left
if not others then
  made, left = put_plain_jobs(queue, every)
end
if made then
  local more = note_published(transaction, is_coordinator, attempt, { made = made })
  flush_zsets()
  local answer = counts(more and 1 or 0)
  if left then
    finish_short_path(left)
  end
  return answer
end
local counted = publish_rows(queue, policy, every, others)
local more = note_published(transaction, is_coordinator, attempt, counted)
flush_zsets()
return write_back(counts(more and 1 or 0))
