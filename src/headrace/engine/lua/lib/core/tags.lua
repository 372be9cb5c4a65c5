-- tags: keep the index of tags: for each tag the number of its jobs, and the jobs in the order in which
-- they got the tag. Setting a tag that a job already has changes nothing, so the job keeps its position in
-- the index.
--
-- uses   keys now job_records sorted_sets events

local tag_counts

local function list_tag(job, tag, by)
  tag_counts = tag_counts or {}
  tag_counts[tag] = (tag_counts[tag] or 0) + by
  if by > 0 then
    zset_add(key('tag', tag), job.id, now)
  else
    zset_remove(key('tag', tag), job.id)
  end
end

local function is_among(names, wanted)
  for _, one in ipairs(names or {}) do
    if one == wanted then
      return true
    end
  end
  return false
end

local function set_of(names)
  local found = {}
  for _, name in ipairs(names) do
    found[name] = true
  end
  return found
end

-- Headrace clients allow fewer tags. This limit protects the server from callers that do not use a Headrace
-- client.
local TAGS_AT_MOST = 1000

-- Return a refusal if a job may not have these tags, else nil.
local function refused_tags(tags)
  return tags and #tags > TAGS_AT_MOST and 'TOO_MANY tags ' .. TAGS_AT_MOST or nil
end

local function set_tags(job, wanted)
  local before = extra(job, 'tags') or {}
  local had, has = set_of(before), set_of(wanted)
  for _, tag in ipairs(wanted) do
    if not had[tag] then
      list_tag(job, tag, 1)
    end
  end
  for _, tag in ipairs(before) do
    if not has[tag] then
      list_tag(job, tag, -1)
    end
  end
  set_extra(job, 'tags', #wanted > 0 and wanted or nil)
end

-- Return whether any job has a tag. Tags that this call has set are included, although the call writes its
-- tags only at the end.
local function any_tags()
  return tag_counts or redis.call('EXISTS', TAGS) == 1
end

local function write_tags()
  for tag, by in pairs(tag_counts) do
    if by ~= 0 and tonumber(redis.call('ZINCRBY', TAGS, by, tag)) <= 0 then
      redis.call('ZREM', TAGS, tag)
    end
  end
end

local function tag_text(tags)
  return #tags > 0 and cjson.encode(tags) or '[]'
end

-- Change the tags of a job and append an event.
local function change_tags(job, wanted)
  if #wanted ~= #(extra(job, 'tags') or {}) then
    set_tags(job, wanted)
    emit('tagged', job, nil, nil, nil, { 'tags', tag_text(wanted) })
    mark_changed(job)
  end
  return wanted
end
