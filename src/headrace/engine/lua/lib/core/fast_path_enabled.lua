-- fast_path_enabled: whether put, pop and complete may take their fast path. Tests swap this file to prove
-- that the general path has the same effect.

local FAST_PATH = true
