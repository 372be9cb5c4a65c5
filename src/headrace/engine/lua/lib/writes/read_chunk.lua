-- read_chunk: a chunk of staged rows: a packed list of ids, of lengths and, if any row has them, of spare
-- ids and options; then the payloads, one after another.

-- The rows, as a function that yields ids and payloads from the first row on, and what they have else.
local function read_chunk(chunk)
  local at, head = cmsgpack.unpack_one(chunk)
  local ids, lengths = head[1], head[2]
  local data = {}
  for i, length in ipairs(lengths) do
    data[i] = string.sub(chunk, at + 1, at + length)
    at = at + length
  end
  local function every()
    local i = 0
    return function()
      i = i + 1
      return ids[i], data[i]
    end
  end
  return every, head[3]
end
