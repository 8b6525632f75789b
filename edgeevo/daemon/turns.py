"""Whose turn is it? Users take turns, and so do the callers of one user, however much each of them has asked for.

    turns.add(user, caller, item)
    turns.next()  ->  the item whose turn it is
    turns.end(item, over=False)     its turn has ended, and its user and its caller go to the end of their lines; `over`: it needs no more

Who comes while a turn is under way comes before whoever has it. So somebody with one question waits for at most one turn of each other user
and of each other caller of the same user, and a user with many callers gets no more turns than one with a single one. A plain value of one
thread; the desk holds a lock around it.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


class Turns(Generic[T]):
    """Who waits, in the order of their turns."""

    def __init__(self) -> None:
        self._users: OrderedDict[int, OrderedDict[int, deque[T]]] = OrderedDict()

    def add(self, user: int, caller: int, item: T) -> None:
        """Behind everything that this caller waits for; a new user or caller behind the others."""
        self._users.setdefault(user, OrderedDict()).setdefault(caller, deque()).append(item)

    def next(self) -> T | None:
        """The item whose turn it is; None when nobody waits."""
        return next(iter(self), None)

    def end(self, item: T, *, over: bool) -> None:
        """The turn of this item has ended."""
        for user, callers in self._users.items():
            for caller, items in callers.items():
                if item in items:
                    self._move(user, caller, item if over else None)
                    return

    def _move(self, user: int, caller: int, gone: T | None) -> None:
        callers = self._users[user]
        items = callers[caller]
        if gone is not None:
            items.remove(gone)
        callers.move_to_end(caller)
        if not items:
            del callers[caller]
        self._users.move_to_end(user)
        if not callers:
            del self._users[user]

    def of(self, user: int) -> int:
        """How many items wait for this user."""
        return sum(map(len, self._users.get(user, {}).values()))

    def __iter__(self) -> Iterator[T]:
        """Every item that waits, by users and callers; the first one is next."""
        for callers in self._users.values():
            for items in callers.values():
                yield from items

    def __len__(self) -> int:
        """How many items wait."""
        return sum(map(self.of, self._users))
