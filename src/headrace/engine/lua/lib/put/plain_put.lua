-- plain_put: put jobs by a short path, which makes the same changes as the general path. Jobs may have a
-- priority, retries, tags and a key, but no other options. The queue must exist. The short path writes nothing
-- until it has checked all jobs of the call. If a job becomes the first job of its lane, the general path
-- refreshes the lane.
--
-- uses   keys set_members now defaults setting_value job_packing events short_path short_path_enabled gates
-- uses   hand_over tags remembered_answers

local PLAIN_OPTIONS = { priority = true, retries = true, tags = true, key = true }

-- Return whether the short path handles these options.
local function are_plain(options)
  for name in pairs(options) do
    if not PLAIN_OPTIONS[name] then
      return false
    end
  end
  return not refused_tags(options.tags)
end

-- Return nil if the queue needs the general path. Otherwise return the retries of its jobs, the size of the
-- largest payload that its events contain, whether all jobs of the queue are in lanes, and the offer of an
-- idle worker.
local function plain_settings(queue)
  local created, governed, offer, own_retries, own_event_data = unpack(redis.call('HMGET', key('settings', queue),
    'created', 'governed', 'idle', 'retries', 'event_data'))
  open_log()
  if not SHORT_PATH or not created or first_number == 0 or stamp > now then
    return nil
  end
  local shared_retries, shared_event_data = unpack(redis.call('HMGET', CONFIG, 'retries', 'event_data'))
  return setting_value(own_retries, shared_retries, DEFAULT_RETRIES),
    setting_value(own_event_data, shared_event_data, DEFAULT_EVENT_DATA), governed, offer
end

-- Return the priority, the retries, the tags and the key of jobs with these options, and the additional
-- fields of their events.
local function option_values(options, retries)
  local tags = options.tags
  if options.retries ~= nil then
    retries = options.retries
  end
  if tags and not tags[1] then
    tags = nil
  end
  return options.priority or 0, retries, tags, options.key, tags and { 'tags', cjson.encode(tags) }
end

-- Return the first bytes of a new record, and the bytes that follow its data.
local function record_ends(retries, tags, job_key)
  if tags or job_key then
    return JUST_PUT_WITH_EXTRA, cmsgpack.pack(now, 0, retries, '', '', false, { tags = tags, key = job_key })
  end
  return JUST_PUT, ''
end

local function count_put(queue, made)
  local books = key('books', queue)
  redis.call('HINCRBY', books, 'put', made)
  redis.call('HINCRBY', books, 'waiting', made)
end

-- Add jobs to the index of tags. `listed` has a score and an id for each job.
local function list_tags(tags, listed, made)
  for i = 1, #tags do
    redis.call('ZADD', key('tag', tags[i]), unpack(listed))
    redis.call('ZINCRBY', TAGS, made, tags[i])
  end
end

-- Add jobs to a lane. `places` has a score and a member for each job. Return the lane if it has a new first job.
local function list_in_lane(queue, job_key, places)
  local lane = job_key and job_key .. '\0' or ''
  local where = lane_key(queue, lane)
  redis.call('ZADD', where, unpack(places))
  return redis.call('ZRANGE', where, 0, 0)[1] == places[2] and lane or nil
end

-- Return whether the job is new, and its lane if the lane has changed.
local function write_plain_job(queue, id, data, options, retries, largest, governed)
  local seq, begins, ends, priority, tags, job_key, more = number + 1, JUST_PUT, '', 0, nil, nil, nil
  -- The server formats a number slowly, so the usual score is a string.
  local score = '0'
  if options then
    priority, retries, tags, job_key, more = option_values(options, retries)
    begins, ends = record_ends(retries, tags, job_key)
    score = priority
  end
  local record = begins .. cmsgpack.pack(queue, priority, seq, now, retries, data) .. ends
  if redis.call('SETNX', job_prefix .. id, record) == 0 then
    return false
  end
  add_put_event(queue, id, data, score, largest, more)
  redis.call('ZADD', key('waiting', queue), score, numbered(seq, id))
  count_put(queue, '1')
  if tags then
    list_tags(tags, { now, id }, 1)
  end
  redis.call('SPUBLISH', key('queue', queue), 'work 1')
  if job_key or governed then
    return true, list_in_lane(queue, job_key, { score, numbered(seq, id) })
  end
  return true
end

-- Put one job. Return the number of jobs put, and what is left to the general path. Return nil if the job
-- needs the general path.
local function put_plain_job(queue, id, data, options)
  if #data > INLINE or again and (redis.call('EXISTS', job_prefix .. id) == 1 or was_created(id)) then
    return nil
  end
  local retries, largest, governed, offer = plain_settings(queue)
  if retries == nil then
    return nil
  end
  local is_new = offer and not options and may_change_jobs()
    and hand_over(queue, id, data, offer, retries, largest)
  local changed_lane
  if not is_new then
    is_new, changed_lane = write_plain_job(queue, id, data, options, retries, largest, governed)
  end
  if is_new then
    return 1, end_short_path(queue, changed_lane)
  end
end

-- Return the ids and payloads of jobs. Return nil if an id occurs twice or a payload is too large.
local function plain_rows(rows)
  local ids, payloads, seen, made = {}, {}, {}, 0
  for id, data in rows() do
    if seen[id] or #data > INLINE then
      return nil
    end
    seen[id] = true
    made = made + 1
    ids[made], payloads[made] = id, data
  end
  return ids, payloads
end

-- Return a packed value without its last bytes.
local function without_end(packed, bytes)
  return string.sub(packed, 1, -1 - bytes)
end

-- Return the keys and records of jobs, and their scores and members in the queue.
local function pack_plain_jobs(queue, ids, payloads, priority, score, retries, begins, ends)
  local jobs, places, headers = {}, {}, {}
  -- Packing a value takes longer than joining strings. Parts that several jobs share are therefore packed only
  -- once: the fields before and after `seq`, the first bytes of the numbers `seq`, and the headers of payloads of
  -- one length.
  local before_seq, after_seq = begins .. cmsgpack.pack(queue, priority), cmsgpack.pack(now, retries)
  local record_begins, member_begins
  for i = 1, #ids do
    local id, data, seq = ids[i], payloads[i], number + i
    if i == 1 or seq % 128 == 0 then
      record_begins = before_seq .. without_end(cmsgpack.pack(seq), 1)
      member_begins = without_end(numbered(seq, ''), 1)
    end
    local last_byte, size = string.char(seq % 256), #data
    headers[size] = headers[size] or without_end(cmsgpack.pack(data), size)
    jobs[2 * i - 1] = job_prefix .. id
    jobs[2 * i] = record_begins .. last_byte .. after_seq .. headers[size] .. data .. ends
    places[2 * i - 1] = score
    places[2 * i] = member_begins .. last_byte .. id
  end
  return jobs, places
end

-- Return a score and an id for each job.
local function scored_ids(ids, score)
  local listed = {}
  for i = 1, #ids do
    listed[2 * i - 1] = score
    listed[2 * i] = ids[i]
  end
  return listed
end

-- Put several jobs that share their options, like put_plain_job.
local function put_plain_jobs(queue, rows, options)
  local retries, largest, governed = plain_settings(queue)
  local ids, payloads = plain_rows(rows)
  if again or retries == nil or not ids then
    return nil
  end
  local priority, score, tags, job_key, more = 0, '0', nil, nil, nil
  if options then
    priority, retries, tags, job_key, more = option_values(options, retries)
    score = priority % 1 == 0 and string.format('%d', priority) or priority
  end
  local begins, ends = record_ends(retries, tags, job_key)
  local jobs, places = pack_plain_jobs(queue, ids, payloads, priority, score, retries, begins, ends)
  if redis.call('MSETNX', unpack(jobs)) == 0 then
    return nil
  end
  for i = 1, #ids do
    add_put_event(queue, ids[i], payloads[i], score, largest, more)
  end
  redis.call('ZADD', key('waiting', queue), unpack(places))
  count_put(queue, #ids)
  if tags then
    list_tags(tags, scored_ids(ids, string.format('%d', now)), #ids)
  end
  redis.call('SPUBLISH', key('queue', queue), 'work ' .. #ids)
  local changed_lane = (job_key or governed) and list_in_lane(queue, job_key, places)
  return #ids, end_short_path(queue, changed_lane)
end
