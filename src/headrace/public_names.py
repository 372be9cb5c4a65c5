"""The public names of Headrace, except the errors and the functions that connect.

`import headrace` imports this module when a program first uses one of these names.

Internal: import the names from `headrace`.
"""

from headrace.app.app import App as App
from headrace.app.context import Context as Context
from headrace.app.outcome_exceptions import Discard as Discard
from headrace.app.outcome_exceptions import Retry as Retry
from headrace.app.outcome_exceptions import Snooze as Snooze
from headrace.app.task import Task as Task
from headrace.backoff import Backoff as Backoff
from headrace.client.client import AsyncClient as AsyncClient
from headrace.client.client import Client as Client
from headrace.client.group import AsyncGroup as AsyncGroup
from headrace.client.group import Group as Group
from headrace.client.lease import AsyncLease as AsyncLease
from headrace.client.lease import Lease as Lease
from headrace.client.queue import AsyncQueue as AsyncQueue
from headrace.client.queue import Queue as Queue
from headrace.client.session import AsyncSession as AsyncSession
from headrace.client.session import Session as Session
from headrace.client.watch import AsyncWatch as AsyncWatch
from headrace.client.watch import Watch as Watch
from headrace.codecs.codec import Codec as Codec
from headrace.codecs.encryption import Encrypted as Encrypted
from headrace.engine.check import Limits as Limits
from headrace.engine.events import Event as Event
from headrace.engine.statistics import Series as Series
from headrace.engine.statistics import Stats as Stats
from headrace.feeds.feed import AsyncFeed as AsyncFeed
from headrace.feeds.feed import Feed as Feed
from headrace.feeds.values import FeedCounts as FeedCounts
from headrace.feeds.values import FeedEvent as FeedEvent
from headrace.feeds.values import FeedSettings as FeedSettings
from headrace.operations.channel_listener import AsyncListener as AsyncListener
from headrace.operations.channel_listener import Listener as Listener
from headrace.operations.lakes import LakeShard as LakeShard
from headrace.operations.schedules import Schedule as Schedule
from headrace.operations.values import Audit as Audit
from headrace.operations.values import Bulk as Bulk
from headrace.operations.values import Counts as Counts
from headrace.operations.values import Fail as Fail
from headrace.operations.values import Failure as Failure
from headrace.operations.values import FailureGroup as FailureGroup
from headrace.operations.values import Job as Job
from headrace.operations.values import Page as Page
from headrace.operations.values import Result as Result
from headrace.operations.values import Stage as Stage
from headrace.operations.values import Throttle as Throttle
from headrace.operations.values import Tracked as Tracked
from headrace.operations.values import Worker as Worker
from headrace.operations.values import WriteStatus as WriteStatus
from headrace.options import JobOptions as JobOptions
from headrace.options import Put as Put
from headrace.options import TaskOptions as TaskOptions
