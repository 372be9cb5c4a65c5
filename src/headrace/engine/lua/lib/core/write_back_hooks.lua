-- write_back_hooks: what lib files add to the end of an operation.

local write_back_hooks = {}
