"""Faults to plant in the scripts of feeds; the walks must catch each."""

from __future__ import annotations

from tests.model.harness import Fault

MAKING = [
    Fault(
        "an existing feed is created again",
        "ops/feed_make",
        "if known_kind then",
        "if nil then",
    ),
    Fault(
        "creating an existing feed opens the feed",
        "ops/feed_make",
        "open and known_kind",
        "known_kind",
    ),
    Fault("a feed is not listed", "ops/feed_make", "redis.call('ZADD', FEEDS, number, feed)", ""),
    Fault(
        "a feed does not store the number of its creation event",
        "ops/feed_make",
        "'life', feed_life",
        "'lives', feed_life",
    ),
    Fault(
        "a new feed ignores its max_length",
        "ops/feed_make",
        "'max_length', max_length, ",
        "'max_length', '', ",
    ),
    Fault(
        "a sorted feed is created as a plain feed",
        "ops/feed_make",
        "'kind', kind,",
        "'kind', 'plain',",
    ),
    Fault("configure keeps the old value of about", "ops/feed_configure", ", 'about', about", ""),
    Fault(
        "a new max_length takes effect only with the next call",
        "ops/feed_configure",
        "feed_most = tonumber(max_length)",
        "",
    ),
    Fault(
        "configure publishes no change",
        "ops/feed_configure",
        "record_change(feed, 'feed_con",
        "type(feed, 'con",
    ),
    Fault(
        "a continued configure takes effect again", "ops/feed_configure", "not continued", "true"
    ),
    Fault("items outlive their feed", "ops/feed_delete", ", key('items', feed)", ""),
    Fault("the order of items outlives its feed", "ops/feed_delete", ", key('order', feed)", ""),
    Fault("a deleted feed stays listed", "ops/feed_delete", "redis.call('ZREM', FEEDS, feed)", ""),
    Fault(
        "deleting an unknown feed succeeds", "ops/feed_delete", "return 'FEED", "return 1, 'FEED"
    ),
]

PUBLISHING = [
    Fault("an edit makes the item the newest", "ops/feed_publish", "(is_new or touch)", "true"),
    Fault("a touch moves nothing", "ops/feed_publish", "(is_new or touch)", "is_new"),
    Fault(
        "an edit is reported as published",
        "ops/feed_publish",
        "is_new and 'published'",
        "'published'",
    ),
    Fault("an edit counts as a published item", "ops/feed_publish", "(is_new and 1 or 0)", "1"),
    Fault("a full feed evicts no item", "ops/feed_publish", "  feed_evict(feed)\n", ""),
    Fault("publish accepts a sorted feed", "ops/feed_publish", ", 'plain')", ")"),
    Fault(
        "a full feed evicts its newest items",
        "lib/feed_change",
        "'ZREMRANGEBYRANK', order, 0, #oldest - 1",
        "'ZREMRANGEBYRANK', order, -#oldest, -1",
    ),
    Fault(
        "a full feed keeps one item too many", "lib/feed_change", "- feed_most", "- feed_most - 1"
    ),
    Fault(
        "an evicted item stays stored without a position",
        "lib/feed_change",
        "redis.call('HDEL', key('items', feed), unpack(oldest))",
        "",
    ),
    Fault(
        "an eviction sends no notice",
        "lib/feed_change",
        "    record_change(feed, 'retracted', id, '', '', '')\n",
        "",
    ),
    Fault(
        "retract publishes a change for an unknown item",
        "ops/feed_retract",
        "was_there == 1",
        "was_there",
    ),
    Fault(
        "a retracted item keeps its position",
        "ops/feed_retract",
        "redis.call('ZREM', key('order', feed), id)",
        "",
    ),
    Fault("retract returns unknown ids", "ops/feed_retract", "= was_there", "= 1"),
]

SORTING = [
    Fault(
        "an item is inserted before instead of after the reference",
        "lib/feed_order",
        "(where == 'after' and 1 or 0)",
        "0",
    ),
    Fault(
        "an item is inserted after instead of before the reference",
        "lib/feed_order",
        "(where == 'after' and 1 or 0)",
        "1",
    ),
    Fault(
        "an item inserted first becomes the second",
        "lib/feed_order",
        "return after - GAP",
        "return after + 1",
    ),
    Fault(
        "an item inserted last gets the position of the last item",
        "lib/feed_order",
        "return before + GAP",
        "return before",
    ),
    Fault("two items get the same position", "lib/feed_order", "high - low > 1 and", "true and"),
    Fault(
        "renumbering reverses the order",
        "lib/feed_order",
        "first + math.floor(i *",
        "first + size - math.floor(i *",
    ),
    Fault(
        "renumbering accepts a range that is full",
        "lib/feed_order",
        "count < most and 2 * (count + 1) <= size",
        "true",
    ),
    Fault(
        "a change does not name the preceding item",
        "lib/feed_order",
        "'after ' .. one_before",
        "'after '",
    ),
    Fault(
        "an item is moved relative to itself",
        "lib/feed_order",
        "id == reference or is_at(order, id, where, reference)",
        "false",
    ),
    Fault(
        "an item that is already last is moved",
        "lib/feed_order",
        "rank == redis.call('ZCARD', order) - 1",
        "false",
    ),
    Fault(
        "several inserted items are reversed",
        "lib/feed_order",
        "return 'after', id",
        "return where, reference",
    ),
    Fault(
        "an edit without a place moves the item",
        "ops/feed_insert",
        "go == '' and '' or move_to",
        "move_to",
    ),
    Fault(
        "an unknown reference item is accepted",
        "ops/feed_insert",
        "reference ~= '' and not",
        "nil and not",
    ),
    Fault("insert accepts a plain feed", "ops/feed_insert", ", 'sorted')", ")"),
    Fault("a generated id is used twice", "ops/feed_insert", "    raise_counter(id)\n", ""),
    Fault(
        "an inserted item does not count as published",
        "ops/feed_insert",
        "feed_published + 1",
        "feed_published",
    ),
    Fault(
        "an edit is published with the old item",
        "ops/feed_insert",
        "record_change(feed, 'edited', id, item",
        "record_change(feed, 'edited', id, before",
    ),
    Fault("move continues after an unknown item", "ops/feed_move", "'ITEM_NOT_FOUND ' .. id", "1"),
    Fault(
        "move accepts an unknown reference item",
        "ops/feed_move",
        "return 'ITEM_NOT_FOUND ' .. reference",
        "return 1",
    ),
    Fault(
        "move publishes a change for an item that stays", "ops/feed_move", "place ~= ''", "place"
    ),
    Fault(
        "the counter of ids does not increase",
        "ops/feed_numbers",
        "'counter', count",
        "'counter', 0",
    ),
]

REPORTS = [
    Fault(
        "the changes of a feed have gaps in their numbers",
        "lib/feed_change",
        "feed_number + 1",
        "feed_number + 2",
    ),
    Fault(
        "the changes of a shard are not counted", "lib/feed_change", "1 + (changes", "0 + (changes"
    ),
    Fault(
        "listeners of all feeds get no notice",
        "lib/feed_change",
        "redis.call('SPUBLISH', key('changes', ''), message)",
        "",
    ),
    Fault(
        "listeners of one feed get no notice",
        "lib/feed_change",
        "redis.call('SPUBLISH', key('changes', feed), message)",
        "",
    ),
    Fault(
        "a change of a feed writes no event",
        "lib/feed_change",
        "  log_change(feed, kind, id, item, place, instance)\n",
        "  next_event()\n  number = number + 1\n",
    ),
    Fault(
        "the event log contains items above event_data",
        "lib/feed_change",
        "#item > largest_data",
        "#item < 0",
    ),
    Fault("a message lacks the item", "lib/feed_change", "instance, item }", "instance, '' }"),
    Fault(
        "a message lacks the place",
        "lib/feed_change",
        "id, place, instance, item }",
        "id, '', instance, item }",
    ),
    Fault(
        "a message lacks the instance",
        "lib/feed_change",
        "place, instance, item }",
        "place, '', item }",
    ),
    Fault(
        "the numbers of the log are not stored",
        "lib/feed_change",
        "redis.call('HSET', LOG, 'number', number, 'stamp', stamp, 'changes', changes)",
        "",
    ),
    Fault("a page has the wrong order", "ops/feed_page", "backward and", "not backward and"),
    Fault(
        "a page ignores its offset",
        "ops/feed_page",
        "'ZRANGE', key('order', feed), offset",
        "'ZRANGE', key('order', feed), 0 * offset + 1",
    ),
    Fault(
        "item ids are paired with the wrong items", "ops/feed_page", "unpack(ids)", "unpack(ids, 2)"
    ),
    Fault("the length of a feed is wrong", "ops/feed_info", "'ZCARD'", "'EXISTS'"),
]

FAULTS = [*MAKING, *PUBLISHING, *SORTING, *REPORTS]
