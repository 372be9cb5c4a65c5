-- tags: the index of tags: jobs by the time when they got a tag, and the count of each tag. Setting a tag
-- that a job already has changes nothing, so the tag keeps its time.
--
-- uses   keys now job_records sorted_sets events

local tag_counts = {}

local function list_tag(job, tag, by)
  tag_counts[tag] = (tag_counts[tag] or 0) + by
  if by > 0 then
    zset_add(key('tag', tag), job.id, now)
  else
    zset_remove(key('tag', tag), job.id)
  end
end

local function has_tag(job, tag)
  for _, one in ipairs(extra(job, 'tags') or {}) do
    if one == tag then
      return true
    end
  end
  return false
end

local function set_tags(job, wanted)
  local stays = {}
  for _, tag in ipairs(wanted) do
    stays[tag] = true
    if not has_tag(job, tag) then
      list_tag(job, tag, 1)
    end
  end
  for _, tag in ipairs(extra(job, 'tags') or {}) do
    if not stays[tag] then
      list_tag(job, tag, -1)
    end
  end
  set_extra(job, 'tags', #wanted > 0 and wanted or nil)
end

-- Includes tags set by this call, which are written only at its end.
local function any_tags()
  return next(tag_counts) or redis.call('EXISTS', TAGS) == 1
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

-- Change the tags of a job, which is an event.
local function change_tags(job, wanted)
  if #wanted ~= #(extra(job, 'tags') or {}) then
    set_tags(job, wanted)
    emit('tagged', job, nil, nil, nil, { 'tags', tag_text(wanted) })
    mark_changed(job)
  end
  return wanted
end
