-- publish: turn the rows of one chunk of a committed transaction into jobs, in the same script that removes
-- the chunk. So each row becomes one job, however many clients publish. A published transaction needs no
-- more calls.
--
-- args   transaction
-- uses   keys now sorted_sets defaults setting_value fast_path_enabled fast_path plain_put transactions
-- uses   staged_chunks write_back
-- reply  {1 if more chunks are left else 0, jobs made, moved, replaced, skipped}, or a refusal
-- error  NOT_COMMITTED WRITE_ABORTED

-- later  publish_rows housekeep_only

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

local function all_plain(every)
  local created, own_retries, own_event_data, governed = unpack(redis.call('HMGET', key('settings', queue),
    'created', 'retries', 'event_data', 'governed'))
  if not FAST_PATH or last_stamp > now or first_event == 0 or not created or governed then
    return nil
  end
  local shared_retries, shared_event_data = unpack(redis.call('HMGET', CONFIG, 'retries', 'event_data'))
  local jobs, places, made = pack_plain_jobs(queue, every,
    setting_value(own_retries, shared_retries, default_retries))
  return jobs, places, made, setting_value(own_event_data, shared_event_data, default_event_data)
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
local jobs, places, made, largest
if not others then
  jobs, places, made, largest = all_plain(every)
end
if jobs and insert_plain_jobs(queue, every, jobs, places, made, largest) then
  local more = note_published(transaction, is_coordinator, attempt, { made = made })
  flush_zsets()
  local answer = counts(more and 1 or 0)
  local housekeeping_due, trim_due = end_fast_path()
  if housekeeping_due then
    housekeep_only('housekeeping', trim_due)
  end
  return answer
end
local counted = publish_rows(queue, policy, every, others)
local more = note_published(transaction, is_coordinator, attempt, counted)
flush_zsets()
return write_back(counts(more and 1 or 0))
