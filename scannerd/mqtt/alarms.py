"""Alarms of the publisher, each told once: when it rises, when its detail changes, when it is over."""

from __future__ import annotations

from collections.abc import Callable

from scannerd.mqtt.notices import AlarmName, BrokerAlarm

NO_MATCHING_SUBSCRIBERS = 0x10


class Alarms:
    """Remembers which alarms are up.

    `denied` and `no_subscribers` are kept by topic. The first is over when no topic is denied any more. The second
    is over as soon as one topic that nobody read is read again: a type that comes once in a process's life must not
    keep it up, and a subscriber of some types only must not make it flap with each event.
    """

    def __init__(self, post: Callable[[BrokerAlarm], None]) -> None:
        """`post` takes each change."""
        self._post = post
        self._up: dict[AlarmName, str] = {}
        self._denied: dict[str, str] = {}
        self._unread: set[str] = set()

    def up(self, alarm: AlarmName) -> bool:
        """Whether `alarm` is up."""
        return alarm in self._up

    def rise(self, alarm: AlarmName, detail: str, now: int) -> None:
        """Raises `alarm`, or tells a new `detail` of it."""
        if self._up.get(alarm) != detail:
            self._up[alarm] = detail
            self._post(BrokerAlarm(now, alarm, up=True, detail=detail))

    def clear(self, alarm: AlarmName, now: int) -> None:
        """Ends `alarm`, if it is up."""
        if self._up.pop(alarm, None) is not None:
            self._post(BrokerAlarm(now, alarm, up=False))

    def denied(self, topic: str, reason: str, now: int) -> None:
        """The broker refused `topic`."""
        self._denied[topic] = reason
        self._tell_denied(now)

    def allowed(self, topic: str, now: int) -> None:
        """The broker took a message on `topic`."""
        if self._denied.pop(topic, None) is not None:
            self._tell_denied(now)

    def delivered(self, topic: str, code: int, now: int) -> None:
        """An event on `topic` was acknowledged with `code`, which is below 0x80."""
        if code == NO_MATCHING_SUBSCRIBERS:
            self._unread.add(topic)
            self.rise("no_subscribers", "nobody is subscribed to the events", now)
        elif topic in self._unread:
            self._unread.clear()
            self.clear("no_subscribers", now)

    def _tell_denied(self, now: int) -> None:
        if self._denied:
            topic, reason = next(iter(self._denied.items()))
            self.rise("denied", f"{topic}: {reason}", now)
        else:
            self.clear("denied", now)
