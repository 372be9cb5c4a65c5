-- retag: a job gets other tags than it had, which is an event.
--
-- uses   jobs emit tags

local function tag_text(tags)
  return #tags > 0 and cjson.encode(tags) or '[]'
end

local function retag(job, wanted)
  if #wanted ~= #(extra(job, 'tags') or {}) then
    set_tags(job, wanted)
    emit('tagged', job, nil, nil, nil, { 'tags', tag_text(wanted) })
    touch(job)
  end
  return wanted
end
